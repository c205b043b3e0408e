import { byId, element } from './elements.js';
import { arrival, play } from './requests.js';
import { onSubmit, showWork } from './work.js';

const work = byId('speech-work', HTMLElement);
const result = byId('speech-result', HTMLElement);

onSubmit(byId('speech-form', HTMLFormElement), async (fields) => {
  const json = {
    model: String(fields.get('model')),
    voice: String(fields.get('voice')),
    input: String(fields.get('text')),
  };
  const done = showWork(work, 'Speaking');
  try {
    const response = await play('/v1/audio/speech', { method: 'POST', json });
    showSound(await arrival(response.blob()));
    done('Ready.');
  } catch (error) {
    done();
    throw error;
  }
});

function showSound(sound: Blob): void {
  const before = result.querySelector('audio');
  if (before) URL.revokeObjectURL(before.src);
  const src = URL.createObjectURL(sound);
  result.className = 'stack-small';
  result.replaceChildren(
    element('audio', { src, controls: true, 'aria-label': 'What was spoken' }),
    element('a', { href: src, download: 'speech.mp3', class: 'small' }, 'Download the MP3'),
  );
}
