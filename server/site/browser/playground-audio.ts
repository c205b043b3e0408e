/*
 * The forms of the playground that speak a text and transcribe a recording.
 */

import { byId, element, FieldProblem } from './elements.js';
import { arrival, play, playJson, textAt } from './requests.js';
import { onSubmit, showWork, startFileDrop } from './work.js';

const speechWork = byId('speech-work', HTMLElement);
const speechResult = byId('speech-result', HTMLElement);

onSubmit(byId('speech-form', HTMLFormElement), async (fields) => {
  const json = {
    model: String(fields.get('model')),
    voice: String(fields.get('voice')),
    input: String(fields.get('text')),
  };
  const done = showWork(speechWork, 'Speaking');
  try {
    const response = await play('/v1/audio/speech', { method: 'POST', json });
    showAudio(await arrival(response.blob()));
    done('Ready.');
  } catch (error) {
    done();
    throw error;
  }
});

function showAudio(audio: Blob): void {
  const before = speechResult.querySelector('audio');
  if (before) URL.revokeObjectURL(before.src);
  const src = URL.createObjectURL(audio);
  speechResult.className = 'stack-small';
  speechResult.replaceChildren(
    element('audio', { src, controls: true, 'aria-label': 'What was spoken' }),
    element('a', { href: src, download: 'speech.mp3', class: 'small' }, 'Download the MP3'),
  );
}

const transcriptWork = byId('hearing-work', HTMLElement);
const transcript = byId('hearing-result', HTMLElement);
const recordings = startFileDrop(byId('hearing-sound', HTMLInputElement), 1);

onSubmit(byId('hearing-form', HTMLFormElement), async (fields) => {
  const [recording] = recordings.files;
  if (!recording) throw new FieldProblem('Choose a recording first.', 'file');
  const form = new FormData();
  form.set('model', String(fields.get('model')));
  form.set('file', recording, recording.name);
  transcript.replaceChildren();
  const done = showWork(transcriptWork, 'Transcribing');
  try {
    const text = textAt(await playJson('/v1/audio/transcriptions', { method: 'POST', form }), 'text');
    transcript.replaceChildren(element('p', { class: 'transcript', role: 'status' }, text ?? 'No speech was found.'));
    done('Transcribed.');
  } catch (error) {
    done();
    throw error;
  }
});
