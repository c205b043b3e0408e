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

/** As `parseJson`; undefined where the text is no JSON, as what is cut off or a page in place of data. */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** As `parseJson`, of the part of a text from `start` to before `end`. */
export function parseJsonPart(text: string, start: number, end: number): unknown {
  // The whole text is looked at in place: reading single characters of a slice takes twice as long.
  const places = bigIntegersIn(text, start, end);
  return JSON.parse(quoteAt(outsideStrings(places, text, start), text, start, end));
}

/** Where a number begins, its sign included, and before what it ends. */
interface Place {
  from: number;
  to: number;
}

/**
 * Integers of 16 digits and more that stand where a bare number may stand, or a text speaks of one. A run of 16 touches
 * every 16th character, so only those are looked at: a page of a megabyte costs microseconds, where a regular expression
 * would cost half of the parsing.
 */
function bigIntegersIn(text: string, start: number, end: number): Place[] {
  const places: Place[] = [];
  let judged = start;
  for (let index = start + LONG - 1; index < end; index += LONG) {
    if (index < judged || !isDigit(text.charCodeAt(index))) continue;
    let first = index;
    while (first > judged && isDigit(text.charCodeAt(first - 1))) first -= 1;
    let last = index;
    // Pages are full of ids in quotes, and of those it need not be known how long they are.
    if (isBareAt(text, first, start)) {
      while (last + 1 < end && isDigit(text.charCodeAt(last + 1))) last += 1;
      // What begins with a zero is no number, and must not become a text.
      if (last - first >= LONG - 1 && text.charCodeAt(first) !== ZERO && isWhole(text, last + 1, end)) {
        places.push({ from: first > start && text.charCodeAt(first - 1) === MINUS ? first - 1 : first, to: last + 1 });
      }
    }
    // Every character is looked at once, however long a run is.
    judged = last + 1;
  }
  return places;
}

function isBareAt(text: string, first: number, start: number): boolean {
  const place = first > start && text.charCodeAt(first - 1) === MINUS ? first - 1 : first;
  if (place === start) return true;
  return BEFORE_NUMBER.has(text.charCodeAt(place - 1)) && !isInnerMember(text, place);
}

/** Whether `\":` stands before it, as in the JSON that strings hold: such numbers are many, and a look from afar costs. */
function isInnerMember(text: string, place: number): boolean {
  return (
    text.charCodeAt(place - 2) === QUOTE &&
    text.charCodeAt(place - 3) === BACKSLASH &&
    text.charCodeAt(place - 4) !== BACKSLASH
  );
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether nothing of a fraction or a power follows the digits of a number. */
function isWhole(text: string, to: number, end: number): boolean {
  let after = to;
  while (after < end && SPACE.has(text.charCodeAt(after))) after += 1;
  return after === end || AFTER_NUMBER.has(text.charCodeAt(after));
}

/** The part from `start` to before `end` with quotes around each of the places. */
function quoteAt(places: readonly Place[], text: string, start: number, end: number): string {
  let quoted = '';
  let done = start;
  for (const { from, to } of places) {
    quoted += `${text.slice(done, from)}"${text.slice(from, to)}"`;
    done = to;
  }
  return quoted + text.slice(done, end);
}

function outsideStrings(places: readonly Place[], text: string, start: number): readonly Place[] {
  if (places.length === 0) return places;
  let open = text.indexOf('"', start);
  let close = stringEnd(text, open);
  return places.filter(({ from }) => {
    while (open >= 0 && close <= from) {
      open = text.indexOf('"', close);
      close = stringEnd(text, open);
    }
    return open < 0 || open > from;
  });
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
