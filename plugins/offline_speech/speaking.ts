/*
 * Speaks English texts sentence by sentence: the first sentence is ready before the answer begins, so that its errors
 * still have a status. Letters are reduced to ASCII; texts in other scripts are refused. At most 32 calls are open.
 */

import { type AudioStream, GatewayError, resumeBody, type SpeakCall } from 'mediagate/plugin';
import { type Engines, Places } from './engines.js';

/** They take turns, a sentence each. */
const CALLS = 32;

/** Reads texts aloud, as English. */
export function createSpeaking(engine: Engines['speaking']) {
  const places = new Places(CALLS);

  return async ({ input, voice: name, speed, instructions, signal }: SpeakCall): Promise<AudioStream> => {
    const voice = engineVoice(name);
    const parts = splitSpeech(readableText(input));
    const leave = places.take(signal);

    async function* speak(): AsyncGenerator<Uint8Array> {
      try {
        for (const text of parts) yield await engine.run({ text, voice, speed }, signal);
      } finally {
        leave();
      }
    }
    // What hinders the first sentence is told before there is an answer.
    const sound = speak();
    const first = await sound.next();
    return { body: resumeBody(first, sound), format: 'pcm', ignored: instructions ? ['instructions'] : [] };
  };
}

/** What is read for characters that have no ASCII form of their own. */
const ASCII_FOR: ReadonlyMap<string, string> = new Map(
  [
    ["'", '‘’'],
    ['"', '“”„«»'],
    [' - ', '–—'],
    ['-', '−'],
    [' times ', '×'],
    [' divided by ', '÷'],
    [' degrees ', '°'],
    [' euros ', '€'],
    [' pounds ', '£'],
    ...'ae:æ Ae:Æ oe:œ Oe:Œ ss:ß o:ø O:Ø d:đð D:Đ l:ł L:Ł th:þ i:ı'.split(' ').map((pair) => pair.split(':')),
  ].flatMap(([text = '', characters = '']) => [...characters].map((character) => [character, text] as const)),
);
/** Longer sentences are spoken in parts: what is spoken at once is also heard only once it is all there. */
const LONGEST = 300;
/** After these, a point ends no sentence. */
const ABBREVIATION = /(?:^|\s|\()(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|Mt|e\.g|i\.e|etc|approx)\.\s*$/;

/**
 * A text in the letters that the engine reads. Marks over and under letters are left out, signs that are no words too.
 * @throws GatewayError `unsupported_value` for letters of other scripts, `invalid_value` where no word is left.
 */
export function readableText(text: string): string {
  const plain = [...text.normalize('NFKC')].map((character) => ASCII_FOR.get(character) ?? character).join('');
  const bare = plain.normalize('NFKD').replace(/\p{M}/gu, '');
  if (/(?=\P{ASCII})[\p{L}\p{N}]/u.test(bare)) {
    throw new GatewayError('unsupported_value', 'The offline engine reads only the Latin alphabet, as English.', {
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

/** The engine's own voices, the names that callers may use for them, and what existing clients call the nearest one. */
const VOICES: ReadonlyMap<string, string> = new Map(
  [
    ['slt', 'slt alloy coral marin nova sage shimmer'],
    ['rms', 'rms ash cedar echo onyx'],
    ['awb', 'awb ballad fable'],
    ['kal16', 'kal verse'],
  ].flatMap(([voice = '', names = '']) => names.split(' ').map((name) => [name, voice] as const)),
);

/** The engine's name of a voice. @throws GatewayError `unsupported_value`. */
export function engineVoice(name: string): string {
  const voice = VOICES.get(name.toLowerCase());
  if (voice !== undefined) return voice;
  const offered = [...VOICES.keys()].join(', ');
  throw new GatewayError('unsupported_value', `The offline engine has no such voice. Available: ${offered}.`, {
    param: 'voice',
  });
}
