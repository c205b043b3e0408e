import { type AudioStream, openAudio, type SpeakCall, uselessAnswer } from 'mediagate';
import { type Exchange, modelName, namesOf, send } from './exchange.js';
import { refusalFailure } from './failures.js';
import { askedFormat, encodeSpeech } from './wire.js';

/** More than an hour without compression; the body flows, so this is no memory of ours. */
const MAX_SPEECH_BYTES = 256 * 1024 * 1024;

/** One try. @throws TryFailure, or what the request threw, before the first byte; never after. */
export async function askForSpeech(exchange: Exchange, call: SpeakCall): Promise<AudioStream> {
  const format = askedFormat(call.format, exchange.upstream);
  const { idleMs } = exchange.context.options;
  const request = encodeSpeech(call, modelName(exchange), format);
  const sent = await send(exchange, request, { maxBytes: MAX_SPEECH_BYTES, idleMs });
  if ('refusal' in sent) {
    throw refusalFailure(sent.refusal, namesOf(exchange), exchange.context.clock.now());
  }
  const { body, headers } = sent.answer;
  // A page of a proxy would pass for samples.
  const isSound = !/^(?:text|application\/(?:json|xml|problem))/i.test(headers['content-type'] ?? '');
  const sound = isSound ? await openAudio(body, format) : undefined;
  if (sound) return sound;
  await body[Symbol.asyncIterator]().return?.();
  throw uselessAnswer('The upstream answered with something that is not a sound.');
}
