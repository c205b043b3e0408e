/*
 * The image form of the playground. Each requested image becomes a separate job with a card of its own.
 */

import { byId } from '../elements.js';
import { onSubmit, startFileDrop, toDataUri } from '../work.js';
import { addImageCard } from './image-card.js';

const MAX_REFERENCES = 4;

const form = byId('image-form', HTMLFormElement);
const references = startFileDrop(byId('image-references', HTMLInputElement), MAX_REFERENCES);

onSubmit(form, async (fields) => {
  const image = await Promise.all(references.files.map(toDataUri));
  const request = {
    model: String(fields.get('model')),
    prompt: String(fields.get('prompt')),
    size: String(fields.get('size')),
    ...(image.length > 0 && { image }),
  };
  // Each is a separate job and is independent from here.
  for (let count = Number(fields.get('count')); count > 0; count -= 1) addImageCard(request);
});
