import { byId, element, FieldProblem } from './elements.js';
import { playJson, textAt } from './requests.js';
import { onSubmit, showWork, startFileDrop } from './work.js';

const work = byId('hearing-work', HTMLElement);
const result = byId('hearing-result', HTMLElement);
const audioFiles = startFileDrop(byId('hearing-sound', HTMLInputElement), 1);

onSubmit(byId('hearing-form', HTMLFormElement), async (fields) => {
  const [sound] = audioFiles.files;
  if (!sound) throw new FieldProblem('Choose a recording first.', 'file');
  const form = new FormData();
  form.set('model', String(fields.get('model')));
  form.set('file', sound, sound.name);
  result.replaceChildren();
  const done = showWork(work, 'Transcribing');
  try {
    const text = textAt(await playJson('/v1/audio/transcriptions', { method: 'POST', form }), 'text');
    result.replaceChildren(element('p', { class: 'transcript', role: 'status' }, text ?? 'No speech was found.'));
    done('Transcribed.');
  } catch (error) {
    done();
    throw error;
  }
});
