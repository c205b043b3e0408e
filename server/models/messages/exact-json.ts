import { drawRandomBytes, GatewayError } from 'mediagate';

/** In nobody's body by chance; and whoever puts it there gets nothing for it but a number. */
const MARK = drawRandomBytes(18).toString('base64url');
/** Also inside of a text that is JSON, and of one inside of that. */
const MARKED = new RegExp(`\\[\\[(\\\\*")${MARK}(-?[\\d.eE+-]+)\\1\\]\\]`, 'g');
const INTEGER = /^-?\d+$/;
/** Fewer digits make no number that is changed. */
const EXACT_LENGTH = 15;
/** Each takes longer than all else of its size. */
const MAX_MARKED = 10_000;
const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
/** Makes `E` an `e`. */
const TO_SMALL = 0x20;
const SMALL_E = 0x65;

/**
 * Numbers of schemas and of inputs of tools pass through here, and mean something to the digit: ids of 64 bits are integers
 * that JavaScript has no numbers for. So those are kept from its parser: in their place stands something that is good for
 * nothing where a number, a text, an object or a list of these is wanted, until {@link restoreNumbers} puts them back.
 * @param json Whole JSON, or what is none.
 * @throws GatewayError `invalid_value` where there are more than 10,000 of them.
 */
export function markNumbers(json: string): string {
  const pieces: string[] = [];
  let done = 0;
  for (let at = 0; at < json.length; at += 1) {
    const letter = json.charCodeAt(at);
    if (letter === QUOTE) at = endOfText(json, at + 1);
    else if (letter === MINUS || isDigit(letter)) {
      const start = at;
      let hasExponent = false;
      for (let next = letter; isInNumber(next); next = json.charCodeAt(at)) {
        hasExponent ||= (next | TO_SMALL) === SMALL_E;
        at += 1;
      }
      if (at - start > EXACT_LENGTH || hasExponent) {
        const number = json.slice(start, at);
        if (isChanged(number)) {
          if (pieces.length >= 2 * MAX_MARKED) throw tooMany();
          pieces.push(json.slice(done, start), `[["${MARK}${number}"]]`);
          done = at;
        }
      }
      at -= 1;
    }
  }
  return done === 0 ? json : pieces.join('') + json.slice(done);
}

export function restoreNumbers(json: string): string {
  return json.includes(MARK) ? json.replace(MARKED, '$2') : json;
}

function tooMany(): GatewayError {
  const limit = MAX_MARKED.toLocaleString('en');
  return new GatewayError('invalid_value', `There are more than ${limit} integers beyond 2^53; send them as texts.`);
}

/** Fractions are not: everybody takes them for the nearest number there is. */
function isChanged(number: string): boolean {
  const value = Number(number);
  return !Number.isFinite(value) || (!Number.isSafeInteger(value) && INTEGER.test(number));
}

function isDigit(letter: number): boolean {
  return letter >= ZERO && letter <= NINE;
}

function isInNumber(letter: number): boolean {
  if (isDigit(letter) || letter === POINT || letter === MINUS || letter === PLUS) return true;
  return (letter | TO_SMALL) === SMALL_E;
}

/** Where the quote stands that ends a text; behind the last letter where none does. */
function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start);
  while (end !== -1 && isEscaped(json, start, end)) end = json.indexOf('"', end + 1);
  return end === -1 ? json.length : end;
}

function isEscaped(json: string, start: number, quote: number): boolean {
  let backslashes = 0;
  while (quote - backslashes > start && json.charCodeAt(quote - backslashes - 1) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

/** Sees when a JSON object that comes in pieces is whole. */
export interface JsonEnd {
  push(piece: string): void;
  readonly isWhole: boolean;
}

/** What is between its braces is not checked. */
export function createJsonEnd(): JsonEnd {
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  let isWhole = false;

  return {
    push(piece) {
      for (const letter of piece) {
        if (isEscaped) isEscaped = false;
        else if (inText) {
          if (letter === '\\') isEscaped = true;
          else if (letter === '"') inText = false;
        } else if (letter === '"') inText = true;
        else if (letter === '{' || letter === '[') depth += 1;
        else if (letter === '}' || letter === ']') {
          depth -= 1;
          isWhole = depth === 0;
        }
      }
    },
    get isWhole() {
      return isWhole;
    },
  };
}
