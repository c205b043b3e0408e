/*
 * Parses JSON of platforms, where ids exceed 2^53. Integers of 16 digits and more come as strings; the check looks at
 * every 16th character only, so a page of a megabyte costs microseconds more than `JSON.parse`. The readers (`at`,
 * `asString`, `asCount`, `findAll` …) take values of unknown shape, never throw, and see own properties only. Searches
 * stop after 50,000 nodes, so a hostile page cannot hold the event loop.
 */

const LONG = 16;
/** What may precede a bare number: white space, a bracket, a colon, a comma. */
const BEFORE_NUMBER: ReadonlySet<number> = new Set([...' \t\r\n:,['].map((character) => character.charCodeAt(0)));
const SPACE: ReadonlySet<number> = new Set([...' \t\r\n'].map((character) => character.charCodeAt(0)));
const AFTER_NUMBER: ReadonlySet<number> = new Set([...',]}'].map((character) => character.charCodeAt(0)));
const MINUS = 45;
const ZERO = 48;
const QUOTE = 34;
const BACKSLASH = 92;

/**
 * `JSON.parse`, except that bare integers of 16 digits and more come as strings: ids exceed 2^53 and must not be
 * rounded. Accepts what `JSON.parse` accepts.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return parseJsonPart(text, 0, text.length);
}

/** Parses JSON with long integers as strings; undefined if the text is none, such as truncated data or a page. */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Parses the part of a text from `start` to before `end`, with long integers as strings. */
export function parseJsonPart(text: string, start: number, end: number): unknown {
  // The text is read in place: reading single characters of a slice takes twice as long.
  const spans = bigIntegersIn(text, start, end);
  return JSON.parse(quoteAt(outsideStrings(spans, text, start), text, start, end));
}

/** Start of a number, including its sign, and its exclusive end. */
interface Span {
  from: number;
  to: number;
}

/**
 * Integers of 16 digits and more in positions where a bare number may occur, also inside strings. A run of 16 digits
 * covers every 16th character, so only those are checked: a page of a megabyte costs microseconds, while a regular
 * expression would cost half of the parsing time.
 */
function bigIntegersIn(text: string, start: number, end: number): Span[] {
  const spans: Span[] = [];
  let judged = start;
  for (let index = start + LONG - 1; index < end; index += LONG) {
    if (index < judged || !isDigit(text.charCodeAt(index))) continue;
    let first = index;
    while (first > judged && isDigit(text.charCodeAt(first - 1))) first -= 1;
    let last = index;
    // Pages contain many ids in quotes; their length is not needed.
    if (isBareAt(text, first, start)) {
      while (last + 1 < end && isDigit(text.charCodeAt(last + 1))) last += 1;
      // A leading zero is no number, and must not become a string.
      if (last - first >= LONG - 1 && text.charCodeAt(first) !== ZERO && isWhole(text, last + 1, end)) {
        spans.push({ from: first > start && text.charCodeAt(first - 1) === MINUS ? first - 1 : first, to: last + 1 });
      }
    }
    // Every character is read once, for runs of any length.
    judged = last + 1;
  }
  return spans;
}

function isBareAt(text: string, first: number, start: number): boolean {
  const position = first > start && text.charCodeAt(first - 1) === MINUS ? first - 1 : first;
  if (position === start) return true;
  return BEFORE_NUMBER.has(text.charCodeAt(position - 1)) && !isInnerField(text, position);
}

/**
 * Whether `\":` precedes it, as in JSON inside of strings: such numbers are common, and the full check is expensive.
 */
function isInnerField(text: string, position: number): boolean {
  return (
    text.charCodeAt(position - 2) === QUOTE &&
    text.charCodeAt(position - 3) === BACKSLASH &&
    text.charCodeAt(position - 4) !== BACKSLASH
  );
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether no fraction or exponent follows the digits of a number. */
function isWhole(text: string, to: number, end: number): boolean {
  let after = to;
  while (after < end && SPACE.has(text.charCodeAt(after))) after += 1;
  return after === end || AFTER_NUMBER.has(text.charCodeAt(after));
}

/** The part from `start` to before `end` with quotes around each of the spans. */
function quoteAt(spans: readonly Span[], text: string, start: number, end: number): string {
  let quoted = '';
  let done = start;
  for (const { from, to } of spans) {
    quoted += `${text.slice(done, from)}"${text.slice(from, to)}"`;
    done = to;
  }
  return quoted + text.slice(done, end);
}

function outsideStrings(spans: readonly Span[], text: string, start: number): readonly Span[] {
  if (spans.length === 0) return spans;
  let open = text.indexOf('"', start);
  let close = stringEnd(text, open);
  return spans.filter(({ from }) => {
    while (open >= 0 && close <= from) {
      open = text.indexOf('"', close);
      close = stringEnd(text, open);
    }
    return open < 0 || open > from;
  });
}

/** Index after the closing quote of the JSON string that opens at `open`, or the text's length if it is not closed. */
function stringEnd(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let before = close - 1;
    while (before > open && text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((close - before) % 2 === 1) return close + 1;
  }
  return text.length;
}

/** Index after the JSON object or array that opens at `start`, found by its brackets; undefined if it is not closed. */
export function literalEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === QUOTE) {
      index = stringEnd(text, index) - 1;
    } else if (character === 123 || character === 91) {
      depth += 1;
    } else if (character === 125 || character === 93) {
      depth -= 1;
      if (depth === 0) return index + 1;
    }
  }
  return undefined;
}

/** Readers for JSON of unknown shape. They never throw, for any input. */

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The value at the end of a path; undefined if the path does not exist. Only own properties count. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object that is not an array. */
export function asRecord(value: unknown): JsonRecord | undefined {
  return isRecord(value) ? value : undefined;
}

/** An empty record for everything else. */
export function recordOf(value: unknown): JsonRecord {
  return asRecord(value) ?? {};
}

/** The value if it is an array. */
export function asArray(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** A string that is not empty. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A finite number, or a string that is a plain decimal number, which is how many platforms send their counters. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : undefined;
}

/** A whole number of zero or more within the safe range: a counter or a size. Accepts the forms of {@link asNumber}. */
export function asCount(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** A whole number of one or more: zero is no value, as for a picture's width. */
export function asPositive(value: unknown): number | undefined {
  return asCount(value) || undefined;
}

/** The value if it is a boolean. */
export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** The objects in a list; everything else is left out. */
export function asRecords(value: unknown): JsonRecord[] {
  return (asArray(value) ?? []).filter(isRecord);
}

/** An id of up to 25 digits as text, whether it was sent as a number or as text; zero is no id. */
export function asId(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && /^[1-9]\d{0,24}$/.test(text) ? text : undefined;
}

/** Members as they are in the source, for a document's `raw_stats`: texts that are not empty, numbers and booleans. */
export function rawStats(members: Readonly<Record<string, unknown>>): Record<string, string | number | boolean> {
  const stats: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(members)) {
    if ((typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean')
      stats[name] = value;
  }
  return stats;
}

export interface FindLimits {
  /** Maximum number of objects, arrays and fields to visit. Default 50,000. */
  maxNodes?: number;
  /** Default 50. */
  maxResults?: number;
}

/**
 * Objects anywhere in the tree that pass the test, in document order. `key` is the field name or index of the object.
 * Matching objects are searched as well.
 */
export function findAll(
  value: unknown,
  test: (record: JsonRecord, key: string | undefined) => boolean,
  { maxNodes = 50_000, maxResults = 50 }: FindLimits = {},
): JsonRecord[] {
  const found: JsonRecord[] = [];
  // Two lists, since a pair for each of a hundred thousand nodes would be slow.
  const nodes: object[] = [];
  const keys: (string | undefined)[] = [];
  let seen = 0;
  const enter = (child: unknown, key: string | number | undefined) => {
    if (typeof child !== 'object' || child === null) return;
    nodes.push(child);
    keys.push(key?.toString());
  };
  enter(value, undefined);
  for (let node = nodes.pop(); node && found.length < maxResults; node = nodes.pop()) {
    const key = keys.pop();
    const before = nodes.length;
    if (Array.isArray(node)) {
      for (let index = 0; index < node.length && seen < maxNodes; index += 1, seen += 1) enter(node[index], index);
    } else {
      const record = node as JsonRecord;
      if (test(record, key)) found.push(record);
      for (const name in record) {
        if (seen >= maxNodes) break;
        seen += 1;
        enter(record[name], name);
      }
    }
    // The next one to visit is at the end.
    reverseFrom(nodes, before);
    reverseFrom(keys, before);
  }
  return found;
}

function reverseFrom(list: unknown[], start: number): void {
  for (let low = start, high = list.length - 1; low < high; low += 1, high -= 1) {
    [list[low], list[high]] = [list[high], list[low]];
  }
}

/** The first line that is not blank, shortened at a word boundary if it is longer than `max` characters. */
export function firstLine(text: string, max = 120): string | undefined {
  const line = /[^\s][^\r\n\u2028\u2029]*/.exec(text)?.[0].trim();
  if (!line || line.length <= max) return line || undefined;
  // One character is for the ellipsis; a surrogate pair is never split.
  const cut = line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '');
  const space = cut.lastIndexOf(' ');
  return `${(space > max / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
