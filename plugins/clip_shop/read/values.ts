/*
 * Readers for single values of the shop's data: texts that databases can store, addresses, counters such as `50.8K+`,
 * and records and lists that are left out if they are empty.
 */

import { absoluteUrl, asArray, asCount, asNumber, asRecord, asString, type Count, parseCount } from 'mediagate/plugin';

/** Text with something in it, fit for databases and UTF-8. */
export function readText(value: unknown): string | undefined {
  const text = asString(value)?.trim();
  if (!text) return undefined;
  return text.isWellFormed() && !text.includes('\0') ? text : text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** A web address of at most 8192 characters; one without a scheme gets https. */
export function readUrl(value: unknown): string | undefined {
  const url = absoluteUrl(readText(value));
  return url && url.length <= 8192 ? url : undefined;
}

/** The best address of a picture, which is written as text, as `{url_list}`, `{url}` or `{image: …}`. */
export function readImageUrl(value: unknown, depth = 2): string | undefined {
  if (typeof value === 'string') return readUrl(value);
  const record = asRecord(value);
  if (!record) return undefined;
  const listed = (asArray(record.url_list) ?? []).map(readUrl).find((url) => url !== undefined);
  return listed ?? readUrl(record.url) ?? (depth > 0 ? readImageUrl(record.image, depth - 1) : undefined);
}

/** The first of several counters that can be read: a number, digits, or words such as `50.8K+`. */
export function firstCount(...values: readonly unknown[]): Count | undefined {
  for (const value of values) {
    const whole = asCount(value);
    if (whole !== undefined) return { value: whole, exact: true };
    const text = readText(value) ?? '';
    const count = asNumber(text) === undefined ? parseCount(text) : undefined;
    if (count) return count;
  }
  return undefined;
}

/** The record without members whose value is undefined. */
export function known<Fields extends object>(fields: Fields): Fields {
  // Only optional members are given as undefined.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

/** The record without members whose value is undefined; undefined if none is left. */
export function anyKnown<Fields extends object>(fields: Fields): Fields | undefined {
  const record = known(fields);
  return Object.keys(record).length > 0 ? record : undefined;
}

/** A list with something in it. */
export function filled<Value>(list: readonly Value[]): Value[] | undefined {
  return list.length > 0 ? [...list] : undefined;
}
