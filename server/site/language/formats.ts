/*
 * Numbers, amounts of money, sizes, dates and lists as people of a language read them. Each format is created at its
 * first use: Intl reads tables for them, which takes 20 ms of a start. Times are by UTC.
 */

import { minorDigits } from '../../format/index.js';
import { type Html, html } from '../html.js';

/** Tags of BCP 47. */
export type LanguageCode = 'en' | 'vi';

/** What the languages differ in, besides what Intl knows. */
interface FormatTags {
  numbers: string;
  lists: string;
  /** Form of thousands and millions. */
  compact: 'short' | 'long';
  /** Of a date without and with its year. */
  shortDate: Intl.DateTimeFormatOptions;
  date: Intl.DateTimeFormatOptions;
}

/** Also for Vietnamese, whose own form of a date without its year is `21-11`. */
const DATES = 'en-GB';

const TAGS: Readonly<Record<LanguageCode, FormatTags>> = {
  en: {
    numbers: 'en-US',
    lists: 'en-GB',
    compact: 'short',
    shortDate: { day: 'numeric', month: 'short' },
    date: { dateStyle: 'medium' },
  },
  vi: {
    numbers: 'vi-VN',
    lists: 'vi-VN',
    compact: 'long',
    shortDate: { day: '2-digit', month: '2-digit' },
    date: { day: '2-digit', month: '2-digit', year: 'numeric' },
  },
};

/** Formats of one language. The functions may be taken out of the object. */
export interface Formats {
  /** `1,250,000`; in Vietnamese `1.250.000`. */
  count(value: number): string;
  /** `1.3M`; in Vietnamese `1,3 triệu`, whose short forms are hardly known. */
  shortCount(value: number): string;
  /** `12.3 MB`, `1.5 GB`, in powers of ten as prices are. */
  dataSize(bytes: number): string;
  /** `€12.34`, `₫299,000`; in Vietnamese `299.000 ₫`. @param amount Minor units. @param currency ISO 4217. */
  money(amount: number, currency: string): string;
  /**
   * Costs as `1.20`, with two to six digits.
   * @param micros Millionths of the currency. @param digits At most. Default 6. @param least At least. Default 2.
   */
  cost(micros: number, digits?: number, least?: number): string;
  /**
   * A price of little: `$0.0025`.
   * @param amount Millionths of the currency. @param currency ISO 4217. @param digits At most. Default 6. @param least At
   * least. Default: those of the currency.
   */
  smallMoney(amount: number, currency: string, digits?: number, least?: number): string;
  /** `21 Nov 2026`; in Vietnamese `21/11/2026`. @param at Milliseconds since 1970. */
  day(at: number): Html;
  /** As {@link day}, as text. @param at Milliseconds since 1970. */
  dayText(at: number): string;
  /** `21 Nov`; in Vietnamese `21/11`. @param at Milliseconds since 1970. */
  shortDay(at: number): string;
  /** `21 Nov, 20:26 UTC`. @param at Milliseconds since 1970. */
  minute(at: number): Html;
  /** `21 Nov, 20:26:07`. @param at Milliseconds since 1970. */
  second(at: number): Html;
  /** `21 Nov 2026, 20:26:07 UTC`. @param at Milliseconds since 1970. */
  moment(at: number): Html;
  /** `20:26:07`, below a title with its day. @param at Milliseconds since 1970. */
  clock(at: number): Html;
  /** `Saturday, 21 November 2026`, as text. @param at Milliseconds since 1970. */
  longDay(at: number): string;
  /** `images and link data`; empty without any. */
  allOf(names: readonly string[]): string;
  /** `images or link data`; empty without any. */
  anyOf(names: readonly string[]): string;
}

export const FORMATS: Readonly<Record<LanguageCode, Formats>> = { en: createFormats('en'), vi: createFormats('vi') };

function createFormats(code: LanguageCode): Formats {
  const tags = TAGS[code];
  const intl = once(() => createIntl(tags));
  const time = (at: number, text: string, of?: 'minute' | 'second' | 'clock') =>
    html`<time datetime="${new Date(at).toISOString()}"${of && html` data-time="${of}"`}>${text}</time>`;
  const count = (value: number) => intl().count.format(value);
  return {
    count,
    // A number and its word stay in one line.
    shortCount: (value) => intl().short.format(value).replaceAll(' ', '\u00a0'),
    dataSize: (bytes) => (bytes < 1e9 ? `${count(bytes / 1e6)} MB` : `${count(bytes / 1e9)} GB`),
    money: (amount, currency) =>
      new Intl.NumberFormat(tags.numbers, { style: 'currency', currency }).format(amount / 10 ** minorDigits(currency)),
    cost: (micros, digits = 6, least = 2) =>
      (micros / 1_000_000).toLocaleString(tags.numbers, {
        minimumFractionDigits: least,
        maximumFractionDigits: digits,
      }),
    smallMoney: (amount, currency, digits = 6, least) =>
      new Intl.NumberFormat(tags.numbers, {
        style: 'currency',
        currency,
        maximumFractionDigits: digits,
        ...(least !== undefined && { minimumFractionDigits: least }),
      }).format(amount / 1_000_000),
    day: (at) => time(at, intl().date.format(at)),
    dayText: (at) => intl().date.format(at),
    shortDay: (at) => intl().shortDate.format(at),
    minute: (at) => time(at, `${intl().shortDate.format(at)}, ${intl().minute.format(at)} UTC`, 'minute'),
    second: (at) => time(at, `${intl().shortDate.format(at)}, ${intl().second.format(at)}`, 'second'),
    moment: (at) => time(at, `${intl().date.format(at)}, ${intl().second.format(at)} UTC`),
    clock: (at) => time(at, intl().second.format(at), 'clock'),
    longDay: (at) => intl().longDate.format(at),
    allOf: (names) => intl().all.format(names),
    anyOf: (names) => intl().any.format(names),
  };
}

function createIntl({ numbers, lists, compact, shortDate, date }: FormatTags) {
  const utc = { timeZone: 'UTC' } as const;
  const minute = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...utc } as const;
  return {
    count: new Intl.NumberFormat(numbers, { maximumFractionDigits: 1 }),
    short: new Intl.NumberFormat(numbers, { notation: 'compact', compactDisplay: compact, maximumFractionDigits: 1 }),
    shortDate: new Intl.DateTimeFormat(DATES, { ...shortDate, ...utc }),
    date: new Intl.DateTimeFormat(DATES, { ...date, ...utc }),
    longDate: new Intl.DateTimeFormat(lists, {
      weekday: 'long',
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      ...utc,
    }),
    minute: new Intl.DateTimeFormat(DATES, minute),
    second: new Intl.DateTimeFormat(DATES, { ...minute, second: '2-digit' }),
    all: new Intl.ListFormat(lists, { type: 'conjunction' }),
    any: new Intl.ListFormat(lists, { type: 'disjunction' }),
  };
}

function once<Value>(create: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: create() };
    return made.value;
  };
}

/** English plural of a count: `1 job`, `2 jobs`. Vietnamese has no plural forms. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${FORMATS.en.count(value)} ${value === 1 ? one : many}`;
}
