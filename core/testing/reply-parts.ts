/*
 * Splits a reply into texts, tags and parsed JSON, so that checks can change the data of a page and leave the rest of
 * it as it was. JSON inside strings of other JSON is parsed too and written back as a string.
 */

import { literalEnd, parseJson } from '../runtime/index.js';
import type { Exchange } from './replay.js';

/** A parsed reply: its data can be changed and assembled again. */
export interface ReplyParts {
  exchange: Exchange;
  parts: readonly Part[];
}

export type Part =
  | { kind: 'text'; text: string }
  /** A tag of the head with metadata: `meta`, `link`, `title`. */
  | { kind: 'tag'; text: string }
  /** The whole body, or an object or list in a script. `text` is the JSON as it was sent. */
  | { kind: 'json'; text: string; value: unknown };

/** JSON inside a string of other JSON. */
export class NestedJson {
  constructor(public value: object) {}
  toJSON(): string {
    return JSON.stringify(this.value);
  }
}

const JSON_START = /[=>(]\s*(?=\{\s*"|\[\s*[{["])|,\s*(?=\{\s*")/g;
const TAG = /<(?:meta|link)\b[^>]*>|<title\b[^>]*>[^<]*<\/title>/gi;

/** A body that is no JSON is a page: text, tags and the JSON in its scripts. */
export function takeApart(exchange: Exchange): ReplyParts {
  const text = exchange.body.toString('utf8');
  const whole = parseData(text);
  return { exchange, parts: whole === undefined ? partsOf(text) : [{ kind: 'json', text, value: whole }] };
}

/** @param texts - the replacement of each part. Default: as it is. */
export function putTogether({ exchange, parts }: ReplyParts, texts = parts.map(({ text }) => text)): Exchange {
  return { ...exchange, body: Buffer.from(texts.join('')) };
}

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(JSON_START)) {
    const start = match.index + match[0].length;
    const end = start < from ? undefined : literalEnd(text, start);
    const value = end === undefined ? undefined : parseData(text.slice(start, end));
    if (end === undefined || value === undefined) continue;
    parts.push(...tagsIn(text.slice(from, start)), { kind: 'json', text: text.slice(start, end), value });
    from = end;
  }
  return [...parts, ...tagsIn(text.slice(from))];
}

function tagsIn(text: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const { 0: tag, index } of text.matchAll(TAG)) {
    parts.push({ kind: 'text', text: text.slice(from, index) }, { kind: 'tag', text: tag });
    from = index + tag.length;
  }
  return [...parts, { kind: 'text', text: text.slice(from) }];
}

/** An object or a list; undefined if the text is neither. */
function parseData(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return mapLeaves(parseJson(text), (leaf) => {
      const inner = typeof leaf === 'string' ? parseData(leaf) : undefined;
      return inner === undefined ? leaf : new NestedJson(inner as object);
    });
  } catch {
    // Not JSON, so it contains nothing to change.
    return undefined;
  }
}

/** The value with each text, number, boolean and null replaced, at any depth. */
export function mapLeaves(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (value instanceof NestedJson) return new NestedJson(mapLeaves(value.value, change) as object);
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, change));
  if (!isRecord(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, mapLeaves(field, change)]));
}

/** An object of JSON that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NestedJson);
}
