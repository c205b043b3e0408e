/** Speech answers in OpenAI's format. */

import type { SpeechFormat } from 'mediagate';
import { openaiError } from '../models/openai-error.js';
import type { Delivery } from '../models/vendor-delivery.js';
import type { AudioVendorRequest } from './audio-vendor.js';
import { makeSound, spokenSeconds } from './vendor-sounds.js';

const TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/** Speech as the vendor makes it, its checks included. */
export async function answerSpeech(
  { members }: AudioVendorRequest,
  { onlyFormat }: { onlyFormat?: 'wav' },
): Promise<Delivery> {
  const { model, input, voice, response_format: format = 'mp3', speed = 1, stream_format: stream = 'audio' } = members;
  const refuse = (param: string, message: string) =>
    openaiError({ status: 400, param, message, code: 'invalid_value' });
  if (typeof model !== 'string') return refuse('model', 'you must provide a model parameter');
  if (typeof input !== 'string' || input.length === 0) return refuse('input', 'input must be a non-empty string.');
  if (input.length > 4096) return refuse('input', 'String should have at most 4096 characters');
  if (typeof voice !== 'string' && typeof (voice as { id?: unknown } | undefined)?.id !== 'string') {
    return refuse('voice', 'voice must be a string or an object with an id.');
  }
  if (typeof format !== 'string' || !(format in TYPES)) return refuse('response_format', 'Invalid response_format.');
  if (typeof speed !== 'number' || speed < 0.25 || speed > 4)
    return refuse('speed', 'speed must be between 0.25 and 4.');
  const made = onlyFormat ?? (format as SpeechFormat);
  const sound = await makeSound(made, spokenSeconds(input));
  if (stream !== 'sse') return { headers: { 'content-type': TYPES[made] }, body: sound };
  const pieces = [sound.subarray(0, sound.length / 2), sound.subarray(sound.length / 2)];
  const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 };
  const events = [
    ...pieces.map((piece) => ({ type: 'speech.audio.delta', audio: piece.toString('base64') })),
    { type: 'speech.audio.done', usage },
  ];
  return {
    headers: { 'content-type': 'text/event-stream' },
    body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
  };
}
