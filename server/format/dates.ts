/** The day by UTC of a time in milliseconds since 1970: `2026-06-15`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Whether the calendar has it, written `YYYY-MM-DD`: `Date` takes the 31st of any month for a day of the next. */
export function isDay(text: string): boolean {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(at) && dayOf(at) === text;
}

/**
 * Milliseconds since 1970 of a day (its beginning by UTC) or a time with its zone, as ISO 8601 writes them; undefined for anything
 * else, since how that is read depends on who reads it.
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

/** Of milliseconds, the largest unit that there are two of: `12 s`, `3 min`, `47 h`. */
export function renderDuration(ms: number): string {
  const [size, name] = UNITS.find(([unit]) => ms >= 2 * unit) ?? [1000, 's'];
  return `${Math.floor(Math.max(0, ms) / size)} ${name}`;
}
