import { literalEnd, parseJson } from '../extraction/scraping/index.js';
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

/** @param texts - the replacement of each part. */
export function putTogether({ exchange }: ReplyParts, texts: readonly string[]): Exchange {
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
    return opened(parseJson(text));
  } catch {
    // Not JSON, so it contains nothing to change.
    return undefined;
  }
}

/** Replaces strings that contain JSON by their values, at any depth. */
function opened(value: unknown): unknown {
  if (typeof value === 'string') {
    const inner = /^\s*[{[]/.test(value) ? parseData(value) : undefined;
    return inner === undefined ? value : new NestedJson(inner as object);
  }
  if (Array.isArray(value)) return value.map(opened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, opened(field)]));
}
