import { asRecord, type JsonRecord } from 'mediagate';

/** The objects among values; everything else is left out. */
export function recordsIn(values: readonly unknown[] | undefined): JsonRecord[] {
  return (values ?? []).map(asRecord).filter((record) => record !== undefined);
}

/** The site's own ids of posts and profiles are numbers, written as text. */
export function numericId(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && /^\d{3,20}$/.test(text) ? text : undefined;
}
