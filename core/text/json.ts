/*
 * Reads and changes JSON in its bytes, without parsing the whole body. `replaceFields` and `removeElements` change
 * top-level fields and list elements and keep every other byte: the order of fields, white space, large integers,
 * unknown fields. The `walk…` functions visit fields, elements or nested texts by their positions in one pass and
 * allocate nothing per field. They find where values end but do not validate their content. Bytes that end too early
 * throw a `SyntaxError`; `walkTexts` alone accepts JSON that is cut off anywhere.
 */

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined };

/**
 * Changes top-level fields of a JSON object in its bytes. An existing field gets its new value in place, at each
 * occurrence; a missing field is added at the end; undefined removes a field. Every other byte stays the same: the
 * order of fields, white space, integers beyond 2^53, unknown fields.
 * @param body Valid JSON in UTF-8 without a byte order mark, an object.
 * @param changes Names in ASCII.
 * @returns New bytes; `body` itself if nothing changed.
 * @throws SyntaxError if the bytes are no object.
 */
export function replaceFields(body: Uint8Array, changes: Readonly<Record<string, JsonValue | undefined>>): Uint8Array {
  const names = Object.keys(changes);
  if (names.length === 0) return body;
  const missing = new Set(names);
  const pieces: Uint8Array[] = [];
  /** End of what was copied or removed so far. */
  let done = 0;
  /** End of the previous field. */
  let previousEnd = 0;
  /** Whether all fields so far are removed together with the comma after them, since no kept field precedes it. */
  let first = true;
  let pendingCut = false;

  const end = walkFields(body, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    if (pendingCut) done = nameStart;
    pendingCut = false;
    const name = names.find((candidate) => isText(body, nameStart, nameEnd, candidate));
    const value = name === undefined ? undefined : changes[name];
    if (name === undefined) first = false;
    else {
      missing.delete(name);
      if (value !== undefined) {
        pieces.push(body.subarray(done, valueStart), Buffer.from(JSON.stringify(value)));
        done = valueEnd;
        first = false;
      } else if (first) {
        pieces.push(body.subarray(done, nameStart));
        done = valueEnd;
        pendingCut = true;
      } else {
        pieces.push(body.subarray(done, previousEnd));
        done = valueEnd;
      }
    }
    previousEnd = valueEnd;
  });

  const added = [...missing].filter((name) => changes[name] !== undefined);
  if (done === 0 && added.length === 0) return body;
  const text = added.map((name) => `${JSON.stringify(name)}:${JSON.stringify(changes[name])}`).join(',');
  pieces.push(body.subarray(done, end));
  if (text !== '') pieces.push(Buffer.from(first ? text : `,${text}`));
  pieces.push(body.subarray(end));
  return Buffer.concat(pieces);
}

/** Replaces ranges of bytes, in order, by texts. @returns `bytes` itself if there are none. */
export function replaceRanges(bytes: Buffer, changes: readonly { start: number; end: number; text: string }[]): Buffer {
  if (changes.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  let done = 0;
  for (const { start, end, text } of changes) {
    pieces.push(bytes.subarray(done, start), Buffer.from(text));
    done = end;
  }
  return Buffer.concat([...pieces, bytes.subarray(done)]);
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COLON = 0x3a;
export const COMMA = 0x2c;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
/** Converts `[` to `{` and `]` to `}`. */
const BRACKET_TO_BRACE = 0x20;
/** Longer texts are searched for their end by native code, which costs a call. */
const SHORT_TEXT = 48;

/** The position of a field: its name with quotes, and its value; ends are exclusive. */
export interface FieldRange {
  nameStart: number;
  nameEnd: number;
  valueStart: number;
  valueEnd: number;
}

/**
 * Visits the fields of the object that starts at `start`; white space may precede it. Nested fields are skipped.
 * @param visit Receives the same range object each time, with new values.
 * @returns Index of the object's closing brace.
 * @throws SyntaxError if there is no whole object. Its content is not checked further.
 */
export function walkFields(bytes: Uint8Array, start: number, visit: (range: Readonly<FieldRange>) => void): number {
  const range: FieldRange = { nameStart: 0, nameEnd: 0, valueStart: 0, valueEnd: 0 };
  let at = skipSpace(bytes, start);
  if (bytes[at] !== OPEN_BRACE) throw notWhole();
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== CLOSE_BRACE) {
    if (bytes[at] !== QUOTE) throw notWhole();
    range.nameStart = at;
    range.nameEnd = endOfText(bytes, at);
    at = skipSpace(bytes, range.nameEnd);
    if (bytes[at] !== COLON) throw notWhole();
    range.valueStart = skipSpace(bytes, at + 1);
    range.valueEnd = endOfValue(bytes, range.valueStart);
    visit(range);
    at = skipSpace(bytes, range.valueEnd);
    if (bytes[at] === COMMA) {
      at = skipSpace(bytes, at + 1);
      // A comma requires another field.
      if (bytes[at] === CLOSE_BRACE) throw notWhole();
    } else if (bytes[at] !== CLOSE_BRACE) throw notWhole();
  }
  return at;
}

/**
 * Removes elements from a top-level list of a JSON object in its bytes; a list that becomes empty is removed with its field.
 * Every other byte stays the same.
 * @param remove Called with the index of each element.
 * @returns New bytes; `body` itself if there is no such list or nothing to remove.
 * @throws SyntaxError if the bytes are no object.
 */
export function removeElements(body: Uint8Array, name: string, remove: (index: number) => boolean): Uint8Array {
  let list: { start: number; end: number } | undefined;
  walkFields(body, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    const isList = isText(body, nameStart, nameEnd, name) && body[valueStart] === OPEN_BRACKET;
    if (isList) list = { start: valueStart, end: valueEnd };
  });
  if (!list) return body;
  const rest: Uint8Array[] = [];
  let count = 0;
  walkElements(body, list.start, (start, end) => {
    if (!remove(count)) rest.push(Buffer.from(rest.length > 0 ? ',' : ''), body.subarray(start, end));
    count += 1;
  });
  if (rest.length === 2 * count) return body;
  if (rest.length === 0) return replaceFields(body, { [name]: undefined });
  const brackets = ['[', ']'].map((bracket) => Buffer.from(bracket));
  const [open = body, close = body] = brackets;
  return Buffer.concat([body.subarray(0, list.start), open, ...rest, close, body.subarray(list.end)]);
}

/**
 * Visits the elements of the array that starts at `start`.
 * @throws SyntaxError if there is no whole array.
 */
export function walkElements(bytes: Uint8Array, start: number, visit: (start: number, end: number) => void): void {
  if (bytes[start] !== OPEN_BRACKET) throw notWhole();
  let at = skipSpace(bytes, start + 1);
  while (bytes[at] !== CLOSE_BRACKET) {
    const end = endOfValue(bytes, at);
    visit(at, end);
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    else if (bytes[at] !== CLOSE_BRACKET) throw notWhole();
  }
}

/** Receives what {@link walkTexts} finds. `nameStart` and `nameEnd` are those of the field's name, with its quotes. */
export interface TextVisitor {
  /** What to do with an object or a list: read its texts, skip them, or take its bytes as a text. 1 is the outermost depth. */
  nested(bytes: Uint8Array, nameStart: number, nameEnd: number, depth: number): 'read' | 'skip' | 'take';
  /** The text of a field, as JSON without its quotes. */
  text(bytes: Uint8Array, nameStart: number, nameEnd: number, start: number, end: number): void;
}

/**
 * Visits the texts of fields in the JSON from `start` to `end`, at any depth, in one pass. The JSON may be cut off
 * anywhere; a cut text is visited as far as it goes. Never throws.
 */
export function walkTexts(bytes: Uint8Array, start: number, end: number, visitor: TextVisitor): void {
  let [depth, nameStart, nameEnd] = [0, start, start];
  /** Whether the value of a field follows. */
  let isValue = false;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const textEnd = orCut(endOfText, bytes, at);
      const isCut = textEnd === undefined;
      const next = textEnd ?? end;
      if (isValue) visitor.text(bytes, nameStart, nameEnd, at + 1, isCut ? next : next - 1);
      else [nameStart, nameEnd] = [at, next];
      isValue = false;
      at = next - 1;
    } else if (byte === COLON) isValue = true;
    else if ((byte | BRACKET_TO_BRACE) === OPEN_BRACE) {
      const what = isValue ? visitor.nested(bytes, nameStart, nameEnd, depth) : 'read';
      isValue = false;
      if (what === 'read') depth += 1;
      else {
        const next = orCut(endOfNest, bytes, at) ?? end;
        if (what === 'take') visitor.text(bytes, nameStart, nameEnd, at, next);
        at = next - 1;
      }
    } else if ((byte | BRACKET_TO_BRACE) === CLOSE_BRACE) {
      depth -= 1;
      isValue = false;
    } else if (byte === COMMA) isValue = false;
  }
}

/** Whether an object or a list opens. */
export function isOpener(byte: number): boolean {
  return (byte | BRACKET_TO_BRACE) === OPEN_BRACE;
}

/** Whether an object or a list closes. */
export function isCloser(byte: number): boolean {
  return (byte | BRACKET_TO_BRACE) === CLOSE_BRACE;
}

/** Undefined if the bytes end before. */
function orCut(endOf: typeof endOfText, bytes: Uint8Array, start: number): number | undefined {
  try {
    return endOf(bytes, start);
  } catch {
    return undefined;
  }
}

/** Whether the quoted text from `start` to `end` equals `name`, with any escapes. `name` is ASCII. */
export function isText(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  const length = end - start - 2;
  if (length === name.length) {
    let index = 0;
    while (index < length && bytes[start + 1 + index] === name.charCodeAt(index)) index += 1;
    return index === length;
  }
  // Escapes only make a text longer.
  if (length < name.length || bytes.subarray(start, end).indexOf(BACKSLASH) === -1) return false;
  return readValue(bytes, start, end) === name;
}

/** The value from `start` to `end`. @throws SyntaxError if it is no JSON. */
export function readValue(bytes: Uint8Array, start: number, end: number): unknown {
  // For a few bytes, a decoder takes longer than everything else.
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return JSON.parse(buffer.toString('utf8', start, end));
}

/** @returns Index after the value that starts at `start`. */
function endOfValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start] ?? 0;
  if (first === QUOTE) return endOfText(bytes, start);
  if ((first | BRACKET_TO_BRACE) === OPEN_BRACE) return endOfNest(bytes, start);
  let at = start;
  while (at < bytes.length && !isDelimiter(bytes[at] ?? 0)) at += 1;
  if (at === start) throw notWhole();
  return at;
}

function endOfNest(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfText(bytes, at) - 1;
    else if ((byte | BRACKET_TO_BRACE) === OPEN_BRACE) depth += 1;
    else if ((byte | BRACKET_TO_BRACE) === CLOSE_BRACE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  throw notWhole();
}

/** @returns Index after the closing quote of the text with its opening quote at `start`. */
export function endOfText(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length) {
    for (const stop = Math.min(at + SHORT_TEXT, bytes.length); at < stop; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at += 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) break;
    let backslashes = 0;
    while (quote - backslashes > at && bytes[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
  throw notWhole();
}

function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isSpace(bytes[at] ?? 0)) at += 1;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || (byte | BRACKET_TO_BRACE) === CLOSE_BRACE || isSpace(byte);
}

function notWhole(): SyntaxError {
  return new SyntaxError('These bytes are not whole JSON.');
}
