import { randomInt } from 'node:crypto';

const PREFIX = 'MG';
/** Crockford's base 32. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;
const MAX_TEXT = 500;

export function newOrderCode(): string {
  return PREFIX + Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/**
 * Everything in a text that may be a code. Banks change case and drop blanks and punctuation, which may also make one word of
 * a code and its neighbours; people write O for 0 and I or L for 1.
 */
export function orderCodesIn(text: string): string[] {
  const plain = text
    .slice(0, MAX_TEXT)
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '');
  const codes = new Set<string>();
  for (let start = plain.indexOf(PREFIX); start !== -1; start = plain.indexOf(PREFIX, start + 1)) {
    const characters = plain.slice(start + PREFIX.length, start + PREFIX.length + LENGTH);
    const rest = characters.replaceAll('O', '0').replace(/[IL]/g, '1');
    if (rest.length === LENGTH && [...rest].every((each) => ALPHABET.includes(each))) codes.add(PREFIX + rest);
  }
  return [...codes];
}
