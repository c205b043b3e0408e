/*
 * Keeps integers beyond 2^53 exact while requests and answers are converted between formats: JavaScript numbers would
 * round the 64-bit ids in schemas and tool inputs. `markNumbers` replaces each such number by a marker before parsing,
 * and `restoreNumbers` puts the digits back into the written JSON. The marker is random per process and is invalid
 * wherever a number, text, object or list is expected. A body may have 10,000 of them. The cost is one pass over the
 * text. `JsonEnd` detects the end of JSON that arrives in pieces.
 */

import { drawRandomBytes, GatewayError } from '../runtime/index.js';
import { BACKSLASH, QUOTE } from './json.js';

/** Does not occur in bodies by accident; a client that inserts it only gets a number. */
const MARK = drawRandomBytes(18).toString('base64url');
/** Also matches JSON that is nested in strings of JSON. */
const MARKED = new RegExp(`\\[\\[(\\\\*")${MARK}(-?[\\d.eE+-]+)\\1\\]\\]`, 'g');
const INTEGER = /^-?\d+$/;
/** Numbers with fewer digits are always exact. */
const EXACT_LENGTH = 15;
/** Each takes longer to process than other JSON of its size. */
const MAX_MARKED = 10_000;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** Converts `E` to `e`. */
const TO_SMALL = 0x20;
const SMALL_E = 0x65;

/**
 * Numbers of schemas and tool inputs must stay exact: 64-bit ids are integers that JavaScript numbers cannot represent.
 * Before parsing, such a number is replaced by a marker that is invalid where a number, a text, an object or a list is
 * expected, until {@link restoreNumbers} restores it.
 * @param json Whole JSON, or any other text.
 * @throws GatewayError `invalid_value` if there are more than 10,000 of them.
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

/** The object of JSON, its numbers marked; undefined if it is none, or has too many of them. */
export function parseMarkedObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(markNumbers(json));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

export function restoreNumbers(json: string): string {
  return json.includes(MARK) ? json.replace(MARKED, '$2') : json;
}

function tooMany(): GatewayError {
  const limit = MAX_MARKED.toLocaleString('en');
  return new GatewayError('invalid_value', `There are more than ${limit} integers beyond 2^53; send them as texts.`);
}

/** Fractions are not marked: every reader rounds them to the nearest number. */
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

/** Index of the quote that ends a text; the text's length if there is none. */
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

/** Detects the end of a JSON object that comes in pieces. The content between its braces is not checked. */
export class JsonEnd {
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  isWhole = false;

  push(piece: string): void {
    for (const letter of piece) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#inText) {
        if (letter === '\\') this.#isEscaped = true;
        else if (letter === '"') this.#inText = false;
      } else if (letter === '"') this.#inText = true;
      else if (letter === '{' || letter === '[') this.#depth += 1;
      else if (letter === '}' || letter === ']') {
        this.#depth -= 1;
        this.isWhole = this.#depth === 0;
      }
    }
  }
}
