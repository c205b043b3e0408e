/*
 * Reads hashtags, known phrases and foreign digits from the texts of posts and pages, for every script and not only
 * for Latin letters.
 */

import { asString } from '../../runtime/index.js';

export interface HashtagOptions {
  /** Hashtags that the source lists itself, with or without `#`; they follow those of the text. */
  listed?: readonly unknown[];
  /** A hashtag may follow a letter or another hashtag. Default false. */
  adjacent?: boolean;
  /** A number alone is a hashtag. Default false. */
  numbers?: boolean;
  /** Emoji are part of a hashtag; otherwise they end it. Default true. */
  emoji?: boolean;
}

const LETTERS = '\\p{L}\\p{N}\\p{M}_';
const EMOJI = '\\p{Extended_Pictographic}\\u200d';

function hashtagPattern(before: string, characters: string): RegExp {
  return new RegExp(`${before}[#＃]([${characters}]{1,100})`, 'gu');
}

const BETWEEN_WORDS = `(?<![${LETTERS.replace('\\p{M}', '')}&/])`;
const PATTERNS = {
  words: hashtagPattern(BETWEEN_WORDS, LETTERS),
  wordsWithEmoji: hashtagPattern(BETWEEN_WORDS, LETTERS + EMOJI),
  adjacent: hashtagPattern('(?<!&)', LETTERS),
  adjacentWithEmoji: hashtagPattern('(?<!&)', LETTERS + EMOJI),
};
const MAX_HASHTAGS = 100;

/**
 * The hashtags of a text without `#`: letters, digits, marks, underscores and emoji, each once (letter case does not
 * count), in their order, at most 100. Undefined if there are none.
 */
export function hashtagsIn(text: string | undefined, options: HashtagOptions = {}): string[] | undefined {
  const { listed = [], adjacent = false, numbers = false, emoji = true } = options;
  const pattern = PATTERNS[`${adjacent ? 'adjacent' : 'words'}${emoji ? 'WithEmoji' : ''}`];
  const found = new Map<string, string>();
  const add = (tag: string) => {
    const key = tag.toLowerCase();
    if (tag !== '' && found.size < MAX_HASHTAGS && !found.has(key)) found.set(key, tag);
  };
  for (const [, tag = ''] of text?.matchAll(pattern) ?? []) {
    if (numbers || !/^\p{N}+$/u.test(tag)) add(tag);
  }
  for (const name of listed)
    add(
      asString(name)
        ?.trim()
        .replace(/^[#＃]/, '') ?? '',
    );
  return found.size > 0 ? [...found.values()] : undefined;
}

/** The first of several phrases, in lower case, that a text contains in any letter case. */
export function findPhrase(text: string | undefined, phrases: readonly string[]): string | undefined {
  const lower = text?.toLowerCase();
  return lower === undefined ? undefined : phrases.find((phrase) => lower.includes(phrase));
}

/** First code points of the decimal digits used in interfaces besides 0 to 9. */
const DIGIT_ZEROS = [
  0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50, 0x0ed0,
  0x0f20, 0x1040, 0x17e0, 0xff10,
];

/** A text with 0 to 9 in place of the digits of other scripts (Arabic, Devanagari, Thai …). */
export function latinDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    const zero = DIGIT_ZEROS.find((start) => code >= start && code < start + 10);
    return zero === undefined ? digit : String(code - zero);
  });
}
