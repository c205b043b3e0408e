const LONG = 16;
const BARE = /(^|[:,[])(\s*)(-?[1-9]\d{15,})(?=\s*(?:[,\]}]|$))/g;
/** What may precede a bare number: white space, a bracket, a colon, a comma. */
const BEFORE_NUMBER: ReadonlySet<number> = new Set([...' \t\r\n:,['].map((character) => character.charCodeAt(0)));
const MINUS = 45;
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

/** As `parseJson`, of the part of a text from `start` to before `end`. */
export function parseJsonPart(text: string, start: number, end: number): unknown {
  const part = text.slice(start, end);
  // The whole text is looked at in place: reading single characters of a slice takes twice as long.
  return JSON.parse(mayHoldBigInteger(text, start, end) ? quoteBigIntegers(part) : part);
}

/**
 * Whether 16 digits stand where a bare number may stand. A run of 16 touches every 16th character, so only those are
 * looked at: a page of a megabyte costs microseconds, where a regular expression would cost half of the parsing.
 */
function mayHoldBigInteger(text: string, start: number, end: number): boolean {
  let judged = start;
  for (let index = start + LONG - 1; index < end; index += LONG) {
    if (!isDigit(text.charCodeAt(index))) continue;
    let first = index;
    while (first > judged && isDigit(text.charCodeAt(first - 1))) first -= 1;
    // Pages are full of ids in quotes, and of those it need not be known how long they are.
    if (isBareAt(text, first, start)) {
      let last = index;
      while (last - first < LONG - 1 && last + 1 < end && isDigit(text.charCodeAt(last + 1))) last += 1;
      if (last - first >= LONG - 1) return true;
    }
    // Every character is looked at once, however long a run is.
    judged = index + 1;
  }
  return false;
}

function isBareAt(text: string, first: number, start: number): boolean {
  const place = first > start && text.charCodeAt(first - 1) === MINUS ? first - 1 : first;
  return place === start || BEFORE_NUMBER.has(text.charCodeAt(place - 1));
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Puts quotes around bare integers of 16 digits and more; what stands inside strings is left alone. */
function quoteBigIntegers(text: string): string {
  let quoted = '';
  let from = 0;
  while (from < text.length) {
    const open = text.indexOf('"', from);
    const outside = text.slice(from, open < 0 ? text.length : open);
    quoted += outside.replace(BARE, '$1$2"$3"');
    if (open < 0) break;
    const close = stringEnd(text, open);
    quoted += text.slice(open, close);
    from = close;
  }
  return quoted;
}

/** Index after the closing quote of the JSON string that opens at `open`, or the text's length where none closes it. */
function stringEnd(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let before = close - 1;
    while (before > open && text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((close - before) % 2 === 1) return close + 1;
  }
  return text.length;
}

/** Index after the JSON object or array that opens at `start`, found by its brackets; undefined where it never closes. */
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
