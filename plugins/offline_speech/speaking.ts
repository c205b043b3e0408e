import { type AudioStream, GatewayError, type SpeakCall } from 'mediagate';
import { createPlaces, type Engines } from './engines.js';

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

const ASCII_FOR: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '–': ' - ',
  '—': ' - ',
  '−': '-',
  '×': ' times ',
  '÷': ' divided by ',
  '°': ' degrees ',
  '€': ' euros ',
  '£': ' pounds ',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ß: 'ss',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
  Đ: 'D',
  ł: 'l',
  Ł: 'L',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};
/** Longer sentences are spoken in parts: what is spoken at once is also heard only once it is all there. */
const LONGEST = 300;
/** After these, a point ends no sentence. */
const ABBREVIATION = /(?:^|\s|\()(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|Mt|e\.g|i\.e|etc|approx)\.\s*$/;

/**
 * A text in the letters that the engine reads. Marks over and under letters are left out, signs that are no words too.
 * @throws GatewayError `unsupported_value` for letters of other scripts, `invalid_value` where no word is left.
 */
export function readableText(text: string): string {
  const plain = [...text.normalize('NFKC')].map((character) => ASCII_FOR[character] ?? character).join('');
  const bare = plain.normalize('NFKD').replace(/\p{M}/gu, '');
  if (/(?=\P{ASCII})[\p{L}\p{N}]/u.test(bare)) {
    throw new GatewayError('unsupported_value', 'The offline engine reads the Latin alphabet only, and as English.', {
      param: 'input',
    });
  }
  const readable = bare.replace(/[^\x21-\x7e]+/g, ' ').trim();
  if (/[A-Za-z0-9]/.test(readable)) return readable;
  throw new GatewayError('invalid_value', 'There is no word to speak.', { param: 'input' });
}

/** A text in parts of a sentence each, at most 300 characters. */
export function splitSpeech(text: string): string[] {
  const sentences: string[] = [];
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'sentence' }).segment(text)) {
    const last = sentences.at(-1);
    if (last !== undefined && ABBREVIATION.test(last)) sentences[sentences.length - 1] = last + segment;
    else sentences.push(segment);
  }
  return sentences.flatMap(splitSentence).filter((part) => /[A-Za-z0-9]/.test(part));
}

function splitSentence(sentence: string): string[] {
  const parts: string[] = [];
  let rest = sentence.trim();
  while (rest.length > LONGEST) {
    const head = rest.slice(0, LONGEST);
    const comma = Math.max(head.lastIndexOf(', '), head.lastIndexOf('; '), head.lastIndexOf(': ')) + 1;
    const space = head.lastIndexOf(' ');
    const end = comma > LONGEST / 3 ? comma : space > 0 ? space : LONGEST;
    parts.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return [...parts, rest];
}

/** The engine's own voices, by the names that callers may use. */
const ENGINE_VOICES: Readonly<Record<string, string>> = { slt: 'slt', rms: 'rms', awb: 'awb', kal: 'kal16' };

/** What existing clients call voices: the nearest of the four. */
const NEAREST: Readonly<Record<string, string>> = {
  alloy: 'slt',
  coral: 'slt',
  marin: 'slt',
  nova: 'slt',
  sage: 'slt',
  shimmer: 'slt',
  ash: 'rms',
  cedar: 'rms',
  echo: 'rms',
  onyx: 'rms',
  ballad: 'awb',
  fable: 'awb',
  verse: 'kal16',
};

/** The engine's name of a voice. @throws GatewayError `unsupported_value`. */
export function engineVoice(name: string): string {
  const known = name.toLowerCase();
  for (const names of [ENGINE_VOICES, NEAREST]) if (Object.hasOwn(names, known)) return names[known] as string;
  const offered = [...Object.keys(ENGINE_VOICES), ...Object.keys(NEAREST)].join(', ');
  throw new GatewayError('unsupported_value', `The offline engine has no such voice. It has: ${offered}.`, {
    param: 'voice',
  });
}
