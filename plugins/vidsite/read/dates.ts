import { latinDigits, toIsoTime } from 'mediagate/plugin';
import months from './months.json' with { type: 'json' };
import { withoutMarks } from './values.js';

const BUDDHIST_OFFSET = 543;

/**
 * The day in a text such as `Streamed live on Mar 9, 2020`, in many interface languages, as midnight UTC. Undefined if
 * the text has no day or is ambiguous.
 */
export function parseShownDate(text: string): string | undefined {
  if (text.length > 120) return undefined;
  const plain = latinDigits(withoutMarks(text));
  return eastAsianDate(plain) ?? numericDate(plain) ?? namedMonthDate(plain);
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
  const plain = text.toLowerCase().replaceAll('.', '');
  const words = plain.match(/[\p{L}\p{M}]+/gu) ?? [];
  const [named, ...more] = monthsIn(words, months.english) ?? monthsIn(words, months.other) ?? [];
  return named && more.length === 0 ? isoDay(year, named, day) : undefined;
}

/**
 * The numbers of the months that a table names, which has the long and short names of each month. English has a table
 * of its own: in no other language do its names mean another month. The other table omits names that mean different
 * months in two languages.
 */
function monthsIn(words: readonly string[], table: readonly string[]): number[] | undefined {
  // Hebrew writes "in" and the month as one word.
  const known = new Set([...words, ...words.map((word) => word.replace(/^ב/, ''))]);
  const found = table.flatMap((names, index) => (names.split(' ').some((name) => known.has(name)) ? [index + 1] : []));
  return found.length > 0 ? found : undefined;
}
