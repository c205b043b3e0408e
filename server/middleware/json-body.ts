import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';

const MAX_DEPTH = 64;

/** A request body, read and understood. */
export interface JsonBody {
  value: Record<string, unknown>;
  /** SHA-256 in hex of what it says: the order of members and the space between them make no difference. */
  fingerprint: string;
}

/** What became of it; `refusal` says in words for the client why it is no JSON object. */
export type Parsed<Value> = { value: Value } | { refusal: string };

/** Imports nothing of ours: it also runs in a thread that has nothing else to do. */
export function parseBody(bytes: Buffer): Parsed<JsonBody> {
  const parsed = parseObject(bytes);
  if ('refusal' in parsed) return parsed;
  const { value } = parsed;
  return { value: { value, fingerprint: fingerprintOf(value) } };
}

/** SHA-256 in hex of canonical JSON. */
export function fingerprintOf(value: unknown): string {
  const hash = createHash('sha256');
  feed(hash, value);
  return hash.digest('hex');
}

export function parseObject(bytes: Buffer): Parsed<Record<string, unknown>> {
  if (bytes.length === 0) return { refusal: 'The body is empty; send a JSON object.' };
  if (!isUtf8(bytes)) return { refusal: 'The body is not valid UTF-8.' };
  if (isDeep(bytes)) return { refusal: `The body is nested deeper than ${MAX_DEPTH} levels.` };
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The parser's message quotes the body.
    return { refusal: 'The body is not valid JSON.' };
  }
  return isObject(value) ? { value } : { refusal: 'The body must be a JSON object.' };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Canonical JSON, in pieces: as one text, a body of many megabytes would be in memory twice. */
function feed(hash: Hash, value: unknown): void {
  if (Array.isArray(value)) {
    hash.update('[');
    for (const element of value) {
      feed(hash, element);
      hash.update(',');
    }
    hash.update(']');
  } else if (isObject(value)) {
    hash.update('{');
    for (const name of Object.keys(value).sort()) {
      hash.update(`${JSON.stringify(name)}:`);
      feed(hash, value[name]);
      hash.update(',');
    }
    hash.update('}');
  } else hash.update(JSON.stringify(value));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Looks at bytes, before anything recursive sees the body. */
function isDeep(bytes: Buffer): boolean {
  let depth = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfText(bytes, index + 1);
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}

/** Where the quote stands that ends a text; the end of the bytes where none does. */
function endOfText(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start);
  while (end !== -1 && isEscaped(bytes, start, end)) end = bytes.indexOf(QUOTE, end + 1);
  return end === -1 ? bytes.length : end;
}

function isEscaped(bytes: Buffer, start: number, quote: number): boolean {
  let backslashes = 0;
  while (quote - backslashes > start && bytes[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
