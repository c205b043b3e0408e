/*
 * Dates, durations, money, tables and cells as texts, for the CLI, the site and reports. Days are by UTC, and the text
 * of the current day is cached, since each request asks for it. Text of strangers must not control a terminal, so
 * invisible characters are replaced; a CSV cell must not become a formula in a spreadsheet, so such a cell begins with
 * an apostrophe. Currencies and their digits come from the tables of the runtime. Tables of emoji are built only if a
 * text needs them.
 */

export { contrastOf, isColour, mixColours } from './colours.js';

const DAY_MS = 24 * 60 * 60 * 1000;
let cachedDay = Number.NaN;
let cachedText = '';

/** The UTC day of a time in milliseconds since 1970: `2026-06-15`. The last one is cached, since each request asks for today. */
export function dayOf(at: number): string {
  const day = Math.floor(at / DAY_MS);
  if (day !== cachedDay) {
    cachedText = new Date(at).toISOString().slice(0, 10);
    cachedDay = day;
  }
  return cachedText;
}

/** Whether the date `YYYY-MM-DD` exists: `Date` accepts the 31st of any month as a day of the next. */
export function isDay(text: string): boolean {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(at) && dayOf(at) === text;
}

/**
 * Milliseconds since 1970 of a day (its beginning in UTC) or a time with its zone, in ISO 8601; undefined for anything
 * else, which would be ambiguous.
 */
export function parseIsoTime(text: string): number | undefined {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = isTime && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Milliseconds since 1970 as ISO 8601 in UTC; null stays null. */
export function isoTime(time: number): string;
export function isoTime(time: number | null): string | null;
export function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

const UNITS = [
  [24 * 60 * 60 * 1000, 'd'],
  [60 * 60 * 1000, 'h'],
  [60 * 1000, 'min'],
] as const;

/** A duration in its largest unit with a value of two or more: `12 s`, `3 min`, `47 h`. */
export function renderDuration(ms: number): string {
  const [size, name] = UNITS.find(([unit]) => ms >= 2 * unit) ?? [1000, 's'];
  return `${Math.floor(Math.max(0, ms) / size)} ${name}`;
}

/** Characters that break a line, control a terminal or are invisible. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/u;
/** Where such a character is legitimate: in emoji of several parts, and between letters of joining scripts. */
const JOINED =
  '\\p{RGI_Emoji}|(?<=[[\\p{L}\\p{M}]--[\\p{scx=Latn}\\p{scx=Grek}\\p{scx=Cyrl}]])[\\u200c\\u200d](?=[\\p{L}\\p{M}])';

/** Created on first use: the table of all emoji takes as long as loading a large library. */
let joinedOrInvisible: RegExp | undefined;

/** Replaces invisible characters by a question mark: foreign text, e.g. of a bank, must not control the terminal. */
export function sanitizeForTerminal(text: string): string {
  if (!INVISIBLE.test(text)) return text;
  joinedOrInvisible ??= new RegExp(`(?<joined>${JOINED})|${INVISIBLE.source}`, 'gv');
  return text.replace(joinedOrInvisible, (found, joined?: string) => (joined === undefined ? '?' : found));
}

/** Whether the text is not empty and entirely visible. */
export function isVisible(text: string): boolean {
  return text !== '' && sanitizeForTerminal(text) === text;
}

/** Cells without a value. */
const NO_VALUES = ['', '-'];

/** Columns as wide as their widest cell, two spaces apart. A column without a value in any row is left out. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const columns = [...head.keys()].filter(
    (column) => rows.length === 0 || rows.some((row) => !NO_VALUES.includes(row[column] ?? '')),
  );
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      columns
        .map((column) => (line[column] ?? '').padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Characters that begin a formula in a spreadsheet, also in their full-width forms. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@＝＋－−＠]|^[\t\r\n]/u;

/**
 * A value as a cell of a CSV file. Users choose names, and a spreadsheet must not take one for a formula: such a cell
 * begins with an apostrophe. Some spreadsheets separate cells by semicolons or tabs, so the parts between them count too.
 */
export function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const plain = (value ?? '')
    .split(/(?<=[;,\t\r\n])/)
    .map((part) => (FORMULA.test(part) ? `'${part}` : part))
    .join('');
  return /[";,\t\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

type Cells = Readonly<Record<string, string | number | null | undefined>>;

/** A line of cells that no spreadsheet takes for a formula. @param cells By column. Default: the names of the columns. */
export function csvLine(columns: readonly string[], cells?: Cells): string {
  const texts = columns.map((column) => csvCell(cells ? (cells[column] ?? null) : column));
  return `${texts.join(',')}\r\n`;
}

/** A text as one word for a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Whether the currency exists in ISO 4217. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}

/** Digits after the point of a currency: EUR 2, VND 0. */
export function minorDigits(currency: string): number {
  const { maximumFractionDigits = 0 } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return maximumFractionDigits;
}

/** A decimal with thousands separators: `1,250.5`. */
export function groupedDecimal(text: string): string {
  return text.replace(
    /^(-?)(\d+)/,
    (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(?:\d{3})+$)/g, ','),
  );
}

/** An amount in minor units as a decimal: `12.34`, `299000`. */
export function minorDecimal(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  const text = String(amount).padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** An amount in minor units in readable form: `12.34 EUR`, `299,000 VND`. */
export function renderMoney(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(amount / 10 ** digits).toLocaleString('en-US', options)} ${currency}`;
}
