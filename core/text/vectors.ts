/*
 * Gives the vectors of an embeddings answer the form that the client asked for: numbers, or little-endian 32-bit
 * floats as base64. Some upstreams have only one of them, and a client that reads the wrong one gets an empty or
 * broken vector without an error. An answer in the right form is not changed; only its beginning is read to see that.
 */

import { COLON, OPEN_BRACE, OPEN_BRACKET, QUOTE, readValue, replaceRanges, walkElements, walkFields } from './json.js';

export type VectorForm = 'float' | 'base64';

const FLOAT_BYTES = 4;
const NAME = '"embedding"';

/** The form that a request asks for; undefined if it asks for one that only its upstream knows. */
export function vectorFormOf({ encoding_format: form }: Readonly<Record<string, unknown>>): VectorForm | undefined {
  if (form === undefined || form === null) return 'float';
  return form === 'float' || form === 'base64' ? form : undefined;
}

/** @param bytes A valid JSON object. */
export function convertVectors(bytes: Buffer, form: VectorForm): Buffer {
  const other = form === 'float' ? QUOTE : OPEN_BRACKET;
  if (firstOfVector(bytes) !== other) return bytes;
  const changes: { start: number; end: number; text: string }[] = [];
  const convert = (start: number, end: number) => {
    const text = bytes[start] === other ? converted(readValue(bytes, start, end), form) : undefined;
    if (text !== undefined) changes.push({ start, end, text });
  };
  walkFields(bytes, 0, ({ nameStart, nameEnd, valueStart }) => {
    if (bytes[valueStart] !== OPEN_BRACKET || bytes.toString('latin1', nameStart, nameEnd) !== '"data"') return;
    walkElements(bytes, valueStart, (start) => {
      if (bytes[start] !== OPEN_BRACE) return;
      walkFields(bytes, start, (field) => {
        if (bytes.toString('latin1', field.nameStart, field.nameEnd) === NAME)
          convert(field.valueStart, field.valueEnd);
      });
    });
  });
  return replaceRanges(bytes, changes);
}

/** The first byte of the first vector. */
function firstOfVector(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(NAME); at !== -1; at = bytes.indexOf(NAME, at + 1)) {
    let next = at + NAME.length;
    while ((bytes[next] ?? COLON) <= 0x20) next += 1;
    // Otherwise it is the kind of an object.
    if (bytes[next] !== COLON) continue;
    next += 1;
    while ((bytes[next] ?? QUOTE) <= 0x20) next += 1;
    return bytes[next];
  }
  return undefined;
}

/** Undefined if it is no vector. */
function converted(value: unknown, form: VectorForm): string | undefined {
  if (form === 'base64') {
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'number')) return undefined;
    const bytes = Buffer.alloc(value.length * FLOAT_BYTES);
    for (const [index, one] of value.entries()) bytes.writeFloatLE(one, index * FLOAT_BYTES);
    return `"${bytes.toString('base64')}"`;
  }
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) return undefined;
  const numbers: string[] = [];
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) numbers.push(JSON.stringify(bytes.readFloatLE(at)));
  return `[${numbers.join(',')}]`;
}
