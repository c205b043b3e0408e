/*
 * Converts times and durations of platforms to the document format. A text without a zone is only accepted where its
 * meaning is certain, and years outside 2000 to 2100 are refused as misread numbers.
 */

const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2101, 0, 1);
const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(\.\d{1,9})?)?\s?(Z|[+-]\d\d:?\d\d)?)?$/i;
/** Mail and HTTP dates, and `Wed Oct 10 20:19:24 +0000 2018`: they always have a zone, so nothing is guessed. */
const ZONED_TEXT =
  /^(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)? (?:GMT|UTC|Z|[+-]\d{4})$|^[a-z]{3} [a-z]{3} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}$/i;
const ENGLISH_DATE = /^(?:[a-z]{3,9}\.? \d{1,2}, \d{4}|\d{1,2} [a-z]{3,9}\.? \d{4})$/i;

/**
 * Converts a time to the document format. Accepts seconds, milliseconds or microseconds since 1970 (numbers or strings
 * of digits), ISO 8601 (the offset is kept, no offset counts as UTC, a date alone becomes midnight UTC), mail dates and
 * English dates. Undefined for everything else, for days that do not exist and for years outside 2000 to 2100.
 */
export function toIsoTime(value: unknown): string | undefined {
  if (typeof value === 'number') return fromEpoch(value);
  if (typeof value !== 'string' || value.length > 64) return undefined;
  const text = value.trim();
  if (/^\d{9,16}$/.test(text)) return fromEpoch(Number(text));
  const iso = ISO.exec(text);
  if (iso) return fromIso(iso);
  if (ZONED_TEXT.test(text)) return fromMilliseconds(Date.parse(text));
  return ENGLISH_DATE.test(text) ? fromMilliseconds(Date.parse(`${text.replace('.', '')} UTC`)) : undefined;
}

/** The number of digits reveals the unit: seconds until the year 2100 have ten digits, milliseconds thirteen. */
function fromEpoch(value: number): string | undefined {
  if (value >= 1e14) return fromMilliseconds(value / 1e3);
  return fromMilliseconds(value >= 1e11 ? value : value * 1e3);
}

function fromMilliseconds(milliseconds: number): string | undefined {
  if (!(milliseconds >= EARLIEST && milliseconds < LATEST)) return undefined;
  const text = new Date(milliseconds).toISOString();
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text;
}

function fromIso([
  ,
  year,
  month,
  day,
  hour = '00',
  minute = '00',
  second = '00',
  fraction = '',
  zone = 'Z',
]: RegExpExecArray) {
  const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const offset = zone.toUpperCase() === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${offset}`;
  const time = Date.parse(text);
  return time >= EARLIEST && time < LATEST ? text : undefined;
}

const ISO_DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;
const CLOCK_DURATION = /^(?:(?:(\d+):)?(\d{1,2}):)?(\d{1,3}):(\d{2})$/;

/** Seconds of `PT1H2M3S`, `1:02:03` or `12:34`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 64) return undefined;
  const iso = ISO_DURATION.exec(text.trim());
  if (iso && /\d/.test(text)) {
    const [weeks, days, hours, minutes, seconds] = iso.slice(1).map((part) => Number(part ?? 0)) as number[];
    return inSeconds((weeks ?? 0) * 7 + (days ?? 0), hours, minutes, seconds);
  }
  const clock = CLOCK_DURATION.exec(text.trim());
  if (!clock) return undefined;
  const [days, hours, minutes, seconds] = clock.slice(1).map((part) => Number(part ?? 0)) as number[];
  return inSeconds(days, hours, minutes, seconds);
}

function inSeconds(days = 0, hours = 0, minutes = 0, seconds = 0): number {
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
}
