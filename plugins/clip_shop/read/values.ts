import { asArray, asCount, asNumber, asRecord, asString, parseCount } from 'mediagate/plugin';

const LONGEST_URL = 8192;
const WEB_ADDRESS = /^https?:\/\/[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:[/?#]\S*)?$/;

/** Text with something in it, fit for databases and UTF-8. */
export function readText(value: unknown): string | undefined {
  const text = asString(value)?.trim();
  if (!text) return undefined;
  return text.isWellFormed() && !text.includes('\0') ? text : text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** An id as text; the platform writes `0` where there is none. */
export function readId(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
  const text = readText(value);
  return text && text.length <= 64 && !/^0+$|\s/.test(text) ? text : undefined;
}

/** A web address; one without a scheme gets https. */
export function readUrl(value: unknown): string | undefined {
  const text = readText(value);
  if (text === undefined || text.length > LONGEST_URL) return undefined;
  const url = text.startsWith('//') ? `https:${text}` : text;
  return WEB_ADDRESS.test(url) ? url : undefined;
}

/** The best address of a picture, which is written as text, as `{url_list}`, `{url}` or `{image: …}`. */
export function readImageUrl(value: unknown, depth = 2): string | undefined {
  if (typeof value === 'string') return readUrl(value);
  const record = asRecord(value);
  if (!record) return undefined;
  for (const url of asArray(record.url_list) ?? []) {
    const read = readUrl(url);
    if (read) return read;
  }
  return readUrl(record.url) ?? (depth > 0 ? readImageUrl(record.image, depth - 1) : undefined);
}

/** A counter that may be a number, digits, or words such as `50.8K+`. */
function readCount(value: unknown): { value: number; exact: boolean } | undefined {
  const whole = asCount(value);
  if (whole !== undefined) return { value: whole, exact: true };
  const text = readText(value);
  return text === undefined || asNumber(text) !== undefined ? undefined : parseCount(text);
}

/** The first of several counters that can be read. */
export function firstCount(...values: readonly unknown[]): { value: number; exact: boolean } | undefined {
  for (const value of values) {
    const count = readCount(value);
    if (count) return count;
  }
  return undefined;
}

/** The record without members whose value is undefined. */
export function known<Fields extends object>(fields: Fields): Fields {
  // Only optional members are given as undefined.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

/** As {@link known}; undefined if no member is left. */
export function anyKnown<Fields extends object>(fields: Fields): Fields | undefined {
  const record = known(fields);
  return Object.keys(record).length > 0 ? record : undefined;
}

/** A list with something in it. */
export function filled<Value>(list: readonly Value[]): Value[] | undefined {
  return list.length > 0 ? [...list] : undefined;
}
