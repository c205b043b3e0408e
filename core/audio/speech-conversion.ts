import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { SpeechFormat } from '../contracts/index.js';
import type { Ffmpeg } from '../media/index.js';
import { wavHeader } from '../media/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import { isPlainWav } from './wav-samples.js';

export interface SpeechToConvert {
  body: AsyncIterable<Uint8Array>;
  from: SpeechFormat;
  to: SpeechFormat;
  /** Default: none, and only what needs no coding is done. */
  ffmpeg?: Ffmpeg;
  /** Ends it at once. */
  signal: AbortSignal;
}

/** The sound in the wanted format, while it comes. */
export async function* convertSpeech(speech: SpeechToConvert): AsyncGenerator<Uint8Array> {
  const { body, from, to } = speech;
  if (from === to && from !== 'wav') yield* body;
  else if (from === 'pcm' && to === 'wav') yield* withHeader(body);
  else if (from === 'wav' && to === 'wav') yield* plainWav(speech);
  else yield* encode(speech);
}

/** The header comes with the first sound: before that, nothing is known to come. */
async function* withHeader(samples: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun = false;
  for await (const chunk of samples) {
    yield begun ? chunk : Buffer.concat([wavHeader(), chunk]);
    begun = true;
  }
}

/** Passes on what is as it should be; models have rates of their own. */
async function* plainWav(speech: SpeechToConvert): AsyncGenerator<Uint8Array> {
  const pieces = speech.body[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done) return;
  const body = beginningWith(first.value, pieces);
  yield* isPlainWav(first.value) ? body : encode({ ...speech, body });
}

async function* beginningWith(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* encode({ body, from, to, ffmpeg, signal }: SpeechToConvert): AsyncGenerator<Uint8Array> {
  if (!ffmpeg) {
    const message = `This gateway has no ffmpeg, without which the model's ${from} cannot be brought into ${to}.`;
    throw new GatewayError('plugin_unavailable', message, { param: 'response_format' });
  }
  const made = new PassThrough();
  const left = new AbortController();
  const stop = () => {
    left.abort(signal.reason);
    made.destroy(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  const write = async (chunk: Uint8Array) => {
    if (!made.write(chunk)) await once(made, 'drain', { signal: left.signal });
  };
  ffmpeg.convertSpeech({ source: body, from, to, write, signal: left.signal }).then(
    () => made.end(),
    (error: unknown) => made.destroy(toFailure(error)),
  );
  try {
    yield* to === 'wav' ? withHeader(made) : made;
  } finally {
    signal.removeEventListener('abort', stop);
    left.abort(new Error('nobody reads the sound any more'));
  }
}

/** ffmpeg speaks of a source that somebody sent; here it is the model's sound. */
function toFailure(error: unknown): Error {
  if (isGatewayError(error) && error.code === 'audio_unavailable') {
    return new GatewayError('upstream_changed', 'The sound of the model cannot be read.', { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}
