/*
 * Days as people type them. A field shows a day as its page writes days, and reads it so, in the form of the other
 * language, and as ISO 8601, so that an address that was copied works for readers of both. The day comes before the month.
 * Routes and scripts use the same function.
 */

/** `2026-06-15`, `15 Jun 2026` or `15/06/2026`, also with points, dashes and a whole name of the month. */
const TYPED = /^(?:(\d{4})-(\d\d?)-(\d\d?)|(\d\d?)[ ./-]+(\d\d?|[a-z]{3,9})[ ./-]+(\d{4}))$/i;
const MONTHS = 'janfebmaraprmayjunjulaugsepoctnovdec';

/** The day in ISO 8601, `2026-06-15`; undefined if the text is none. */
export function readTypedDay(text: string): string | undefined {
  const [, isoYear, isoMonth, isoDay, day = isoDay, month = isoMonth, year = isoYear] = TYPED.exec(text.trim()) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const name = MONTHS.indexOf(month.slice(0, 3).toLowerCase());
  const number = /\d/.test(month) ? Number(month) : name % 3 === 0 ? name / 3 + 1 : 0;
  const written = `${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`;
  const at = Date.parse(written);
  // A day that a month does not have would be one of the next.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(written) ? written : undefined;
}
