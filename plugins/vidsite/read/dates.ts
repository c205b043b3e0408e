import { toIsoTime } from 'mediagate/plugin';
import { withoutMarks } from './values.js';

/** Interface languages whose month names are recognised. */
const LANGUAGES = [
  ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl', 'cs', 'sk', 'sv', 'da', 'nb', 'fi', 'hu', 'ro', 'tr', 'ru', 'uk'],
  ['bg', 'sr', 'hr', 'sl', 'el', 'id', 'ms', 'vi', 'th', 'hi', 'bn', 'ar', 'he', 'fa', 'lt', 'lv', 'et', 'ca', 'fil'],
].flat();
/** First code points of the digits of those languages. */
const DIGIT_ZEROS = [0x0660, 0x06f0, 0x0966, 0x09e6, 0x0e50];
const BUDDHIST_OFFSET = 543;

/**
 * The day in a text such as `Streamed live on Mar 9, 2020`, in many interface languages, as midnight UTC. Undefined if
 * the text has no day or is ambiguous.
 */
export function parseShownDate(text: string): string | undefined {
  if (text.length > 120) return undefined;
  const plain = withoutMarks(text).replace(/\p{Nd}/gu, latinDigit);
  return eastAsianDate(plain) ?? numericDate(plain) ?? namedMonthDate(plain);
}

function latinDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const zero = DIGIT_ZEROS.find((start) => code >= start && code < start + 10);
  return zero === undefined ? digit : String(code - zero);
}

function isoDay(year: string | number, month: string | number, day: string | number): string | undefined {
  return toIsoTime(`${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`);
}

/** The year first: 2020年3月9日, 2020. 3. 9., 2020/03/09. */
function eastAsianDate(text: string): string | undefined {
  const match = /(?<!\d)(\d{4})\s?[年년./-]\s?(\d{1,2})\s?[月월./-]\s?(\d{1,2})(?!\d)/.exec(text);
  return match?.[1] && match[2] && match[3] ? isoDay(match[1], match[2], match[3]) : undefined;
}

/** 09.03.2020 has the day first; with other separators only a number above 12 shows which one is the day. */
function numericDate(text: string): string | undefined {
  const match = /(?<!\d)(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4})(?!\d)/.exec(text);
  const [, first, separator, second, year] = match ?? [];
  if (!first || !second || !year) return undefined;
  if (separator === '.' || Number(first) > 12 || first === second) return isoDay(year, second, first);
  return Number(second) > 12 ? isoDay(year, first, second) : undefined;
}

/** A day, a year and the name of a month, in any order. */
function namedMonthDate(text: string): string | undefined {
  const numbers = text.match(/\d+/g) ?? [];
  const years = numbers.filter((number) => number.length === 4);
  const days = numbers.filter((number) => number.length <= 2);
  if (years.length !== 1 || numbers.length !== years.length + days.length) return undefined;
  const year = Number(years[0]) > 2400 ? Number(years[0]) - BUDDHIST_OFFSET : Number(years[0]);
  const [day, month] = days;
  if (!day) return undefined;
  // Vietnamese numbers its months: "9 thg 3, 2020".
  if (month) return days.length === 2 && /thg|tháng/i.test(text) ? isoDay(year, month, day) : undefined;
  const named = monthsIn(text);
  return named.length === 1 && named[0] ? isoDay(year, named[0], day) : undefined;
}

/** The month names of the default interface language; in no other language they mean another month. */
const ENGLISH = 'january february march april may june july august september october november december'.split(' ');

function monthsIn(text: string): number[] {
  const words = wordsOf(text);
  const english = words.flatMap((word) => {
    const month = ENGLISH.findIndex((name) => word === name || word === name.slice(0, 3) || word === name.slice(0, 4));
    return month < 0 ? [] : [month + 1];
  });
  // Building the table of all languages is slow and rarely needed.
  if (english.length > 0) return [...new Set(english)];
  names ??= monthNames();
  // Hebrew writes "in" and the month as one word.
  const months = words.map((word) => names?.get(word) ?? names?.get(word.replace(/^ב/, '')));
  return [...new Set(months.filter((month) => month !== undefined))];
}

function wordsOf(text: string): string[] {
  const plain = text.toLowerCase().replaceAll('.', '');
  return plain.match(/[\p{L}\p{M}]+/gu) ?? [];
}

let names: ReadonlyMap<string, number | undefined> | undefined;

/** Month names, long and short, alone and in a date. Names that mean different months in two languages are omitted. */
function monthNames(): ReadonlyMap<string, number | undefined> {
  const found = new Map<string, number | undefined>();
  const styles = (['long', 'short'] as const).flatMap((month): Intl.DateTimeFormatOptions[] => [
    { month },
    { month, day: 'numeric', year: 'numeric' },
  ]);
  const formats = LANGUAGES.flatMap((language) =>
    styles.map((style) => new Intl.DateTimeFormat(language, { ...style, timeZone: 'UTC', calendar: 'gregory' })),
  );
  for (let month = 1; month <= 12; month += 1) {
    for (const format of formats) {
      const parts = format.formatToParts(Date.UTC(2020, month - 1, 9));
      const [word = '', ...more] = wordsOf(parts.find((part) => part.type === 'month')?.value ?? '');
      // Names of several words contain more than the month.
      if (word.length < 2 || more.length > 0) continue;
      found.set(word, found.has(word) && found.get(word) !== month ? undefined : month);
    }
  }
  return found;
}
