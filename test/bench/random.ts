/** A seeded source of invented words and numbers, so that every run measures the same bytes. */

/** A small pseudo-random source: the same seed gives the same words, so that every run measures the same bytes. */
export interface Random {
  /** Letters and digits. */
  word(length: number): string;
  /** Words with a capital first. */
  sentence(words: number): string;
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

export function createRandom(seed: string): Random {
  let state = [...seed].reduce((hash, character) => Math.imul(hash ^ character.charCodeAt(0), 16777619), 2166136261);
  const next = (below: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const word = (length: number) => {
    let made = '';
    for (let index = 0; index < length; index += 1) made += ALPHABET[next(ALPHABET.length)];
    return made;
  };
  return {
    word,
    sentence(words) {
      const text = Array.from({ length: words }, () => word(3 + next(7)).toLowerCase()).join(' ');
      return text.charAt(0).toUpperCase() + text.slice(1);
    },
  };
}
