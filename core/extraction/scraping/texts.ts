import { asString } from './json.js';

/** Readers for the texts of posts and pages. */

export interface HashtagOptions {
  /** Hashtags that the source lists itself, with or without `#`; they follow those of the text. */
  listed?: readonly unknown[];
  /** A hashtag may follow a letter or another hashtag. Default false. */
  adjacent?: boolean;
  /** A number alone is a hashtag. Default false. */
  numbers?: boolean;
}

const NAME = '[#＃]([\\p{L}\\p{N}\\p{M}_\\p{Extended_Pictographic}\\u200d]{1,100})';
const HASHTAG = new RegExp(`(?<![\\p{L}\\p{N}_&/])${NAME}`, 'gu');
const ADJACENT_HASHTAG = new RegExp(`(?<!&)${NAME}`, 'gu');
const MAX_HASHTAGS = 100;

/**
 * The hashtags of a text without `#`: letters, digits, marks, underscores and emoji, each once (letter case does not
 * count), in their order, at most 100. Undefined if there are none.
 */
export function hashtagsIn(text: string | undefined, options: HashtagOptions = {}): string[] | undefined {
  const { listed = [], adjacent = false, numbers = false } = options;
  const found = new Map<string, string>();
  const add = (tag: string) => {
    const key = tag.toLowerCase();
    if (tag !== '' && found.size < MAX_HASHTAGS && !found.has(key)) found.set(key, tag);
  };
  for (const [, tag = ''] of text?.matchAll(adjacent ? ADJACENT_HASHTAG : HASHTAG) ?? []) {
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
