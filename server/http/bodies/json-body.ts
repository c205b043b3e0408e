/*
 * Parses JSON bodies, large ones on a thread that loads nothing else. While bytes arrive, a scan counts values and
 * nesting and records long strings, at several hundred megabytes a second. Long strings of plain ASCII, such as base64,
 * are neither parsed nor copied: short marks replace them and are restored on the main thread. A brief body omits
 * fields above 8 KiB, because the bytes go to the model anyway. The fingerprint is a hash of canonical JSON, fed in
 * pieces, so that a large body is not in memory twice. Texts above 4 MiB that are not plain ASCII are refused.
 */

import { isUtf8 } from 'node:buffer';
import { createHash, type Hash, randomBytes } from 'node:crypto';
import { isRecord } from '../../../core/runtime/index.js';
import type { InexactField, PromptSample, VendorField } from '../../../core/text/index.js';

export const MAX_DEPTH = 64;
/** Longer fields are omitted from a brief body. */
const BRIEF_BYTES = 8 * 1024;
/** Fields of a brief body that are never omitted: the gateway decides by them. */
const NEEDED = ['stream_options', 'reasoning'];
/** Maximum characters of JSON of all objects and lists in a brief body; further ones are omitted. */
const BRIEF_TOTAL = 64 * 1024;
/** Maximum fields of a large body: each of them has to be copied on the main thread. */
export const MAX_FIELDS = 1_000;

/** Maximum bytes of long strings that are not plain ASCII. Parsing takes several times their size. */
const MAX_PARSED_TEXT = 4 * 1024 * 1024;
const PARSED_TEXT_REFUSAL = 'Texts of more than 4 MiB in a body must be plain ASCII without escapes, such as base64.';

/** A request body, read and parsed. */
export interface JsonBody {
  value: Record<string, unknown>;
  /** SHA-256 in hex of the value: the order of fields and white space make no difference. */
  fingerprint: string;
}

/** The result; `refusal` states for the client why it is no JSON object. */
export type Parsed<Value> = { value: Value } | { refusal: string };

/** SHA-256 in hex of canonical JSON. */
export function fingerprintOf(value: unknown, cut?: Cut): string {
  const hash = createHash('sha256');
  feed(hash, value, cut);
  return hash.digest('hex');
}

/** Positions of the long strings that were replaced by short texts. */
interface Cut extends Pick<LargeBody, 'mark' | 'cuts'> {
  bytes: Buffer;
}

export function parseObject(bytes: Buffer): Parsed<Record<string, unknown>> {
  if (bytes.length === 0) return { refusal: 'The body is empty; send a JSON object.' };
  if (!isUtf8(bytes)) return { refusal: 'The body is not valid UTF-8.' };
  return parseText(bytes.toString('utf8'));
}

function parseText(text: string): Parsed<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body.
    return { refusal: 'The body is not valid JSON.' };
  }
  return isRecord(value) ? { value } : { refusal: 'The body must be a JSON object.' };
}

/** Canonical JSON, in pieces: as one text, a body of many megabytes would be in memory twice. */
function feed(hash: Hash, value: unknown, cut?: Cut): void {
  if (Array.isArray(value)) {
    hash.update('[');
    for (const element of value) {
      feed(hash, element, cut);
      hash.update(',');
    }
    hash.update(']');
  } else if (isRecord(value)) {
    hash.update('{');
    for (const name of Object.keys(value).sort()) {
      hash.update(`${JSON.stringify(name)}:`);
      feed(hash, value[name], cut);
      hash.update(',');
    }
    hash.update('}');
  } else if (cut && typeof value === 'string' && value.startsWith(cut.mark)) {
    hash.update('"');
    cutOf(value, cut.mark, cut.cuts, (start, end) => hash.update(cut.bytes.subarray(start, end)));
    hash.update('"');
  } else hash.update(JSON.stringify(value));
}

/** How a large body is reduced before it returns to the main thread. */
export interface LargeBodyPlan {
  /** Offsets of the quotes around long strings, as `JsonScan` finds them. */
  longStrings: readonly (readonly [start: number, end: number])[];
  /** Whether to compute the fingerprint; otherwise it is empty. */
  fingerprinted: boolean;
  /** The only fields to return. Default: all. */
  fields?: readonly string[];
  /** Whether to omit fields of more than 8 KiB; a sample of the prompt is returned instead. Default false. */
  brief?: boolean;
  /** The fields that must exist once and in their exact letters. Default: none. */
  exact?: {
    read: ExactFields;
    /** Number of names of fields in the bytes. */
    names: number;
  };
}

/** Of a text request, at every depth; otherwise these of the outermost depth. */
export type ExactFields = 'text' | readonly string[];

/** Finds the first field that is repeated, or written in other letters. */
export type FindInexact = (
  value: Readonly<Record<string, unknown>>,
  bytes: Uint8Array,
  names: number,
  read: ExactFields,
) => InexactField | undefined;

/** What the thread finds in the whole of a brief body. */
export interface BriefParts {
  prompt: PromptSample;
  /** Fields that use something of the model vendor's account. */
  vendorFields: VendorField[];
  /** Beginning of the last message of the user, if it has a text. */
  asked: string | undefined;
}

/** A large body without its long strings. */
export interface LargeBody extends JsonBody {
  /** The text that replaces a long string begins with this and ends with its index in `cuts`. */
  mark: string;
  /** Offsets of the content between the quotes, all of it ASCII without escapes. */
  cuts: readonly (readonly [start: number, end: number])[];
  /** Set for a brief body. */
  brief?: BriefParts;
  inexact?: InexactField;
}

/**
 * Parses a large body. Runs on a thread that loads nothing else. Long strings of plain ASCII, such as base64, are
 * neither parsed nor copied: short texts replace them, and {@link restoreCuts} restores them.
 */
export function parseLargeBody(
  bytes: Buffer,
  plan: LargeBodyPlan,
  { readBrief, findInexact }: { readBrief(value: Record<string, unknown>): BriefParts; findInexact: FindInexact },
): Parsed<LargeBody> {
  if (!isUtf8(bytes)) return { refusal: 'The body is not valid UTF-8.' };
  const mark = `cut:${randomBytes(12).toString('hex')}:`;
  const cuts: Cut['cuts'][number][] = [];
  const parts: string[] = [];
  let from = 0;
  let parsedBytes = 0;
  for (const span of plan.brief ? [] : plan.longStrings) {
    const plain = plainSpan(bytes, span);
    if (!plain) {
      parsedBytes += span[1] - span[0];
      if (parsedBytes > MAX_PARSED_TEXT) return { refusal: PARSED_TEXT_REFUSAL };
      continue;
    }
    parts.push(bytes.toString('utf8', from, plain[0]), `${mark}${cuts.length}`);
    cuts.push(plain);
    from = span[1];
  }
  parts.push(bytes.toString('utf8', from));
  const parsed = parseText(parts.join(''));
  if ('refusal' in parsed) return parsed;
  const { value } = parsed;
  if (!plan.fields && Object.keys(value).length > MAX_FIELDS) {
    return { refusal: `The body has more than ${MAX_FIELDS} fields.` };
  }
  const inexact = plan.exact && findInexact(value, bytes, plan.exact.names, plan.exact.read);
  const tooLong = plan.brief && NEEDED.find((name) => JSON.stringify(value[name] ?? null).length > BRIEF_BYTES);
  if (tooLong) return { refusal: `The field "${tooLong}" is longer than ${BRIEF_BYTES} bytes.` };
  const fingerprint = plan.fingerprinted ? fingerprintOf(value, { bytes, mark, cuts }) : '';
  const brief = plan.brief ? readBrief(value) : undefined;
  const found = { ...(brief && { brief }), ...(inexact && { inexact }) };
  return { value: { value: reduce(value, plan), fingerprint, mark, cuts, ...found } };
}

/** Restores the long strings of a large body, in place. */
export function restoreCuts({ value, mark, cuts }: LargeBody, bytes: Buffer): Record<string, unknown> {
  const restored = (one: unknown): unknown => {
    if (typeof one === 'string')
      return cutOf(one, mark, cuts, (start, end) => bytes.toString('latin1', start, end)) ?? one;
    if (typeof one === 'object' && one !== null) restore(one as Record<string, unknown>);
    return one;
  };
  const restore = (container: Record<string, unknown>) => {
    for (const name of Object.keys(container)) container[name] = restored(container[name]);
  };
  if (cuts.length > 0) restore(value);
  return value;
}

function cutOf<Result>(
  text: string,
  mark: string,
  cuts: LargeBody['cuts'],
  read: (start: number, end: number) => Result,
): Result | undefined {
  if (!text.startsWith(mark)) return undefined;
  const cut = cuts[Number(text.slice(mark.length))];
  return cut && read(...cut);
}

function reduce(value: Record<string, unknown>, { fields, brief = false }: LargeBodyPlan): Record<string, unknown> {
  let left = BRIEF_TOTAL;
  const isBrief = (field: unknown) => {
    if (typeof field === 'string') return field.length <= BRIEF_BYTES;
    if (typeof field !== 'object' || field === null) return true;
    const { length } = JSON.stringify(field);
    if (length > BRIEF_BYTES || length > left) return false;
    left -= length;
    return true;
  };
  const short = Object.entries(value).filter(
    ([name, field]) => (!fields || fields.includes(name)) && (!brief || NEEDED.includes(name) || isBrief(field)),
  );
  return Object.fromEntries(short);
}

/** Class of a byte of a long string: 0 printable ASCII, 1 a backslash, 2 something else. */
const KINDS = new Uint8Array(256).fill(2);
KINDS.fill(0, 0x20, 0x7f);
KINDS[0x5c] = 1;
const SLASH = 0x2f;
const COLON = 0x3a;

/**
 * The position of a long string's text, if it is a value of printable ASCII, so that its bytes are its text. Escaped
 * slashes, which some encoders write into base64, are unescaped in place.
 * @returns Undefined if the string has to be parsed.
 */
function plainSpan(bytes: Buffer, [start, end]: readonly [number, number]): Cut['cuts'][number] | undefined {
  let next = end + 1;
  while (next < bytes.length && (bytes[next] ?? 0) <= 0x20) next += 1;
  if (bytes[next] === COLON) return undefined;
  let slashes = 0;
  for (let index = start + 1; index < end; index += 1) {
    const kind = KINDS[bytes[index] ?? 0];
    if (kind === 0) continue;
    if (kind === 2 || bytes[index + 1] !== SLASH) return undefined;
    slashes += 1;
    index += 1;
  }
  let to = start + 1;
  if (slashes === 0) return [to, end];
  for (let index = start + 1; index < end; index += 1) {
    if (bytes[index] === 0x5c) index += 1;
    bytes[to] = bytes[index] ?? 0;
    to += 1;
  }
  // The remaining bytes are no longer part of the body.
  bytes.fill(0x20, to, end);
  return [start + 1, to];
}

export interface JsonScanLimits {
  maxValues: number;
  maxDepth: number;
}

const LONG_BYTES = 16 * 1024;
const MANY_ESCAPES = 8;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Class of a byte outside a string: 0 nothing, 1 a quote, 2 opens, 3 closes, 4 separates values, 5 ends a name. */
const MEANING = new Uint8Array(256);
MEANING[QUOTE] = 1;
MEANING[0x7b] = 2;
MEANING[0x5b] = 2;
MEANING[0x7d] = 3;
MEANING[0x5d] = 3;
MEANING[0x2c] = 4;
MEANING[COLON] = 5;

/**
 * Scans the bytes of a JSON body while they arrive, before anything is parsed. It counts the values and the nesting,
 * and records the positions of long strings. Strings are skipped with a native search, so a scan runs at several
 * hundred megabytes per second. It does not check the grammar: the parser does.
 */
export class JsonScan {
  /** Offsets of the quotes around each string of at least 16 KiB. */
  readonly longStrings: [start: number, end: number][] = [];
  /** Number of values so far: at most one too many per object or list. */
  values = 1;
  /** Fields of the object so far, including repeated ones. */
  fields = 1;
  /** Names of fields so far, over all depths. */
  names = 0;
  readonly #limits: JsonScanLimits;
  #depth = 0;
  #offset = 0;
  /** Start of the string that continues in the next chunk; -1 outside strings. */
  #stringStart = -1;
  /** Whether the last chunk ended with a backslash that escapes the next byte. */
  #isEscaping = false;

  constructor(limits: JsonScanLimits) {
    this.#limits = limits;
  }

  /**
   * Scans the next chunk.
   * @returns The exceeded limit, if any.
   */
  push(bytes: Uint8Array): 'depth' | 'values' | undefined {
    const { maxDepth, maxValues } = this.#limits;
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let index = this.#stringStart === -1 ? 0 : this.#skipString(chunk, 0);
    while (index < chunk.length) {
      const meaning = MEANING[chunk[index] ?? 0];
      index += 1;
      if (meaning === 0) continue;
      if (meaning === 1) {
        this.#stringStart = this.#offset + index - 1;
        index = this.#skipString(chunk, index);
      } else if (meaning === 2) {
        this.#depth += 1;
        this.values += 1;
        if (this.#depth > maxDepth) return 'depth';
      } else if (meaning === 3) this.#depth -= 1;
      else if (meaning === 5) this.names += 1;
      else {
        this.values += 1;
        if (this.#depth === 1) this.fields += 1;
      }
    }
    this.#offset += chunk.length;
    return this.values > maxValues ? 'values' : undefined;
  }

  /** @returns Index after the quote that ends the string; the length of the chunk if there is none. */
  #skipString(chunk: Buffer, start: number): number {
    let from = start;
    for (let escaped = 0; ; escaped += 1) {
      // With many escaped quotes, searching for each takes longer than reading each byte.
      if (escaped === MANY_ESCAPES) return this.#skipBytewise(chunk, from);
      const quote = chunk.indexOf(QUOTE, from);
      const end = quote === -1 ? chunk.length : quote;
      let backslashes = 0;
      while (end - backslashes > from && chunk[end - backslashes - 1] === BACKSLASH) backslashes += 1;
      const reachesBack = end - backslashes === from && this.#isEscaping && from === start;
      const isOdd = (backslashes + (reachesBack ? 1 : 0)) % 2 === 1;
      if (quote === -1) {
        this.#isEscaping = isOdd;
        return chunk.length;
      }
      this.#isEscaping = false;
      if (!isOdd) return this.#endString(quote);
      from = quote + 1;
    }
  }

  #skipBytewise(chunk: Buffer, start: number): number {
    let index = start;
    while (index < chunk.length) {
      const byte = chunk[index];
      if (byte === QUOTE) return this.#endString(index);
      index += byte === BACKSLASH ? 2 : 1;
    }
    this.#isEscaping = index > chunk.length;
    return chunk.length;
  }

  #endString(quote: number): number {
    const end = this.#offset + quote;
    if (end - this.#stringStart > LONG_BYTES) this.longStrings.push([this.#stringStart, end]);
    this.#stringStart = -1;
    return quote + 1;
  }
}
