/*
 * Finds JSON inside a page: after a marker such as `window["name"] =`, as an argument of `JSON.parse`, or as a string
 * literal. It first tries the text up to the end of the script or line, which needs no scan, because scanning costs as
 * much as parsing. Occurrences without a readable value are skipped, at most 20 of them. `splitScripts` separates a
 * page into its scripts and the rest in one pass. Nothing here throws, for any page.
 */

import { literalEnd, parseJsonPart } from '../../runtime/index.js';

/** How bare integers of 16 digits and more are read. */
export type BigIntegers = 'as_text' | 'as_numbers';

export interface ExtractedJson {
  value: unknown;
  /** Index in the text after the value's last character. */
  end: number;
}

/** What may be between a name and its value: the rest of `window["name"]` or of `"name"`, and `=` or `:`. */
const BEFORE_VALUE = /\s*(?:["']?\s*\])?\s*(?:["']?\s*[=:])?\s*/y;
const PARSE_CALL = /JSON\s*\.\s*parse\s*\(\s*/y;
/** Maximum number of unparsable values after a marker; a page with more of them is an attack. */
const MAX_TRIES = 20;

/**
 * The first JSON object or array right after the marker; white space, `=` or `:`, and the rest of `window["marker"]`
 * may be in between. A value written as `JSON.parse('…')` or as a string literal is read as well. Occurrences of the
 * marker without a readable value are skipped. Bare integers of 16 digits and more become strings; `as_numbers` skips
 * this check, for a source that is known to have none. Never throws.
 */
export function findJsonAfter(
  html: string,
  marker: string | RegExp,
  from = 0,
  bigIntegers: BigIntegers = 'as_text',
): ExtractedJson | undefined {
  let tries = 0;
  for (let at = markerEnd(html, marker, from); at !== undefined; at = markerEnd(html, marker, at)) {
    const start = skip(BEFORE_VALUE, html, at);
    const opener = html[start];
    if (opener === undefined || !'{["\'J'.includes(opener)) continue;
    const found = opener === '{' || opener === '[' ? readLiteral(html, start, bigIntegers) : readQuoted(html, start);
    if (found) return found;
    tries += 1;
    if (tries >= MAX_TRIES) return undefined;
  }
  return undefined;
}

function markerEnd(html: string, marker: string | RegExp, from: number): number | undefined {
  if (typeof marker === 'string') {
    const index = marker === '' ? -1 : html.indexOf(marker, from);
    return index < 0 ? undefined : index + marker.length;
  }
  const search = new RegExp(marker.source, `${marker.flags.replace(/[gy]/g, '')}g`);
  search.lastIndex = from;
  const match = search.exec(html);
  return match === null || match[0] === '' ? undefined : match.index + match[0].length;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/**
 * Most pages end the script or the line right after the value, so the value is the text before that end and needs no
 * scan: reading every character again would cost as much as parsing.
 */
function readLiteral(html: string, start: number, bigIntegers: BigIntegers): ExtractedJson | undefined {
  const tag = indexOfTag(html, '</script', start);
  const scriptEnd = tag < 0 ? html.length : tag;
  const inScript = parseUpTo(html, start, scriptEnd, bigIntegers);
  if (inScript) return inScript;
  const line = html.indexOf('\n', start);
  const onLine = line >= 0 && line < scriptEnd ? parseUpTo(html, start, line, bigIntegers) : undefined;
  if (onLine) return onLine;
  const scanned = literalEnd(html, start);
  return scanned === undefined ? undefined : parseSlice(html, start, scanned, bigIntegers);
}

function parseUpTo(html: string, start: number, limit: number, bigIntegers: BigIntegers): ExtractedJson | undefined {
  let end = limit;
  while (end > start && ' \t\r\n;'.includes(html[end - 1] ?? '')) end -= 1;
  return html[end - 1] === (html[start] === '{' ? '}' : ']') ? parseSlice(html, start, end, bigIntegers) : undefined;
}

function parseSlice(
  html: string,
  start: number,
  end: number,
  bigIntegers: BigIntegers = 'as_text',
): ExtractedJson | undefined {
  try {
    const value = bigIntegers === 'as_text' ? parseJsonPart(html, start, end) : JSON.parse(html.slice(start, end));
    return { value, end };
  } catch {
    // Not JSON: the caller tries the next occurrence.
    return undefined;
  }
}

/** `JSON.parse('…')`, `JSON.parse("…")`, or the string literal alone. */
function readQuoted(html: string, start: number): ExtractedJson | undefined {
  const open = skip(PARSE_CALL, html, start);
  const quote = html[open];
  if (quote !== "'" && quote !== '"') return undefined;
  const close = quoteEnd(html, open, quote);
  if (close === undefined) return undefined;
  const text = unescapeLiteral(html.slice(open + 1, close));
  if (open === start && !/^\s*[{[]/.test(text)) return undefined;
  const inner = parseSlice(text, 0, text.length);
  return inner && { value: inner.value, end: close + 1 };
}

/** Index of the quote that closes a script's string literal. */
function quoteEnd(html: string, open: number, quote: string): number | undefined {
  for (let close = html.indexOf(quote, open + 1); close >= 0; close = html.indexOf(quote, close + 1)) {
    let before = close - 1;
    while (before > open && html[before] === '\\') before -= 1;
    if ((close - before) % 2 === 1) return close;
  }
  return undefined;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', 0: '\0' };

/** The value of a script's string literal. */
function unescapeLiteral(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|\r\n|([\s\S]))/g,
    (whole, hex?: string, unit?: string, point?: string, character?: string) => {
      const code = hex ?? unit;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (point !== undefined) {
        const value = Number.parseInt(point, 16);
        return value > 0x10ffff ? whole : String.fromCodePoint(value);
      }
      if (character === undefined || character === '\n') return '';
      return ESCAPES[character] ?? character;
    },
  );
}

/** One script of a page. */
export interface PageScript {
  /** The content of the opening tag, from its name on: `script type="application/json"`. */
  tag: string;
  text: string;
}

/** A page split into scripts and the rest. */
export interface ScriptedPage {
  scripts: readonly PageScript[];
  /** The page without its scripts, in pieces. */
  markup: readonly string[];
}

/**
 * Splits a page into its scripts and the rest in one pass: data is in the scripts, visible text in the rest, and
 * searching megabytes for each marker would cost more than reading the data. An unclosed script ends with the page.
 * Never throws.
 */
export function splitScripts(html: string): ScriptedPage {
  const scripts: PageScript[] = [];
  const markup: string[] = [];
  let from = 0;
  for (let open = indexOfTag(html, '<script', 0); open >= 0; open = indexOfTag(html, '<script', from)) {
    const start = html.indexOf('>', open) + 1;
    if (start === 0) break;
    const close = indexOfTag(html, '</script', start);
    const end = close < 0 ? html.length : close;
    scripts.push({ tag: html.slice(open + 1, start - 1), text: html.slice(start, end) });
    markup.push(html.slice(from, open));
    const after = close < 0 ? -1 : html.indexOf('>', end);
    from = after < 0 ? html.length : after + 1;
  }
  markup.push(html.slice(from));
  return { scripts, markup };
}

/** Finds a text that begins with `<`. It searches for that character first, in a quarter of the time of `indexOf`. */
export function indexOfTag(html: string, tag: string, from: number): number {
  for (let open = html.indexOf('<', from); open >= 0; open = html.indexOf('<', open + 1)) {
    if (html.startsWith(tag, open)) return open;
  }
  return -1;
}
