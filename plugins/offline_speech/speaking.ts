import type { AudioStream, SpeakCall } from 'mediagate';
import type { Engines } from './engines.js';
import { readableText, splitSpeech } from './english-text.js';
import { createPlaces } from './places.js';
import { engineVoice } from './voices.js';

/** They take turns, a sentence each. */
const CALLS = 32;

/** Reads texts aloud, as English. */
export function createSpeaking(engine: Engines['speaking']) {
  const places = createPlaces(CALLS);

  return async ({ input, voice: name, speed, instructions, signal }: SpeakCall): Promise<AudioStream> => {
    const voice = engineVoice(name);
    const parts = splitSpeech(readableText(input));
    const leave = places.take(signal);

    async function* speak(): AsyncGenerator<Uint8Array> {
      try {
        for (const text of parts) yield await engine.run({ text, voice, speed }, [], signal);
      } finally {
        leave();
      }
    }
    // What hinders the first sentence is told before there is an answer.
    const sound = speak();
    const first = await sound.next();
    return { body: startingWith(first, sound), format: 'pcm', ignored: instructions ? ['instructions'] : [] };
  };
}

/** The whole of a sound whose first part has been waited for. */
function startingWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  let ready: IteratorResult<Uint8Array> | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const result = ready ?? (await rest.next());
      ready = undefined;
      return result;
    },
    // Not a generator of its own: one that was never begun would not end what it was to go on with.
    return: () => rest.return(undefined),
  };
}
