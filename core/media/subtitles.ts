/*
 * Reads subtitles in the forms that platforms give, and writes them as WebVTT, SubRip or plain text. It reads WebVTT and
 * SubRip, timed text in XML (TTML and the forms of video sites), and JSON (events with segments, or utterances). What is
 * none of these has no cues here, so a page in their place is refused. The text of a cue has no markup. Automatic
 * captions that roll repeat the line before in each cue; here each line is there once, with all of its time. Reading
 * takes time in proportion to the bytes.
 */

import type { Cue, SubtitleFormat } from '../contracts/index.js';

export const SUBTITLE_TYPES: Readonly<Record<SubtitleFormat, string>> = {
  vtt: 'text/vtt; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
};

/** What a cue says, and whether it shows the cue before again while its own words appear. */
interface ReadCue extends Cue {
  isRolling?: boolean;
}

/** @returns Cues in the order of their start; undefined if the bytes are no subtitles, or more than any item has. */
export function parseSubtitles(bytes: Uint8Array): readonly Cue[] | undefined {
  const text = new TextDecoder().decode(bytes).trimStart();
  const cues = text.startsWith('{') ? fromJson(text) : text.startsWith('<') ? fromXml(text) : fromLines(text);
  if (!cues) return undefined;
  const timed = cues.map((cue) => ({ ...cue, text: cleanLines(cue.text) })).filter(isTimed);
  return joinRolling(timed.sort((one, other) => one.start - other.start));
}

export function encodeSubtitles(cues: readonly Cue[], format: SubtitleFormat): string {
  switch (format) {
    case 'vtt':
      return encodeVtt(cues);
    case 'srt':
      return encodeSrt(cues);
    case 'txt':
      return cues.map(({ text }) => `${cleanLines(text)}\n`).join('');
  }
}

/** SubRip. */
function encodeSrt(cues: readonly Cue[]): string {
  return cues
    .map(
      (cue, index) => `${index + 1}\n${clock(cue.start, ',')} --> ${clock(cue.end, ',')}\n${cleanLines(cue.text)}\n\n`,
    )
    .join('');
}

/** WebVTT. */
function encodeVtt(cues: readonly Cue[]): string {
  const encoded = cues.map(
    ({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${escapeCue(cleanLines(text))}\n\n`,
  );
  return `WEBVTT\n\n${encoded.join('')}`;
}

function clock(seconds: number, point: ',' | '.'): string {
  const total = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const whole = `${two(total / 3_600_000)}:${two((total / 60_000) % 60)}:${two((total / 1000) % 60)}`;
  return `${whole}${point}${String(total % 1000).padStart(3, '0')}`;
}

/** An empty line would end the cue. */
function cleanLines(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== '').join('\n');
}

function escapeCue(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** More than any recording has. */
const MAX_SECONDS = 100 * 3_600;
/** Those of a day of automatic captions that roll. */
const MAX_CUES = 100_000;

function isTimed({ start, end, text }: Cue): boolean {
  return text !== '' && start >= 0 && end >= start && end <= MAX_SECONDS;
}

const CLOCK = String.raw`(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})`;
const TIMES = new RegExp(`^\\s*${CLOCK}\\s*-->\\s*${CLOCK}(?:\\s|$)`);
/** A time within a cue, at which a word appears. */
const WORD_TIME = /<\d{1,3}:\d/;

/** WebVTT and SubRip: a line with the times, then the text up to an empty line. */
function fromLines(text: string): ReadCue[] | undefined {
  const cues: ReadCue[] = [];
  let lines: string[] | undefined;
  const finish = () => {
    const cue = cues.at(-1);
    if (!cue || !lines) return;
    const marked = lines.join('\n');
    cue.text = plainText(marked);
    cue.isRolling = WORD_TIME.test(marked);
    lines = undefined;
  };
  for (const line of text.split(/\r\n|\r|\n/)) {
    const times = line.includes('-->') ? TIMES.exec(line) : null;
    if (times) {
      // Without an empty line before it, its number is the last line so far.
      if (lines && /^\d+$/.test(lines.at(-1) ?? '')) lines.pop();
      finish();
      if (cues.length === MAX_CUES) return undefined;
      cues.push({ start: secondsOf(times.slice(1, 5)), end: secondsOf(times.slice(5, 9)), text: '' });
      lines = [];
    } else if (line === '') finish();
    else lines?.push(line);
  }
  finish();
  return cues.length > 0 || /^WEBVTT(?:\s|$)/.test(text) ? cues : undefined;
}

function secondsOf([hours = '0', minutes = '0', seconds = '0', fraction = '']: readonly (
  | string
  | undefined
)[]): number {
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(`${seconds}.${fraction}`);
}

/** A tag has no `<`, so that a text of many `<` takes no more time. */
const TAG = /<[^<>]*>/g;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** Without tags, places on the picture and character references. */
function plainText(marked: string): string {
  return decodeReferences(marked.replace(TAG, '').replace(/\{\\[^{}]*\}/g, ''));
}

function decodeReferences(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,5}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

/** Root elements of timed text. */
const ROOT = /<(?:[\w-]+:)?(tt|transcript|timedtext)[\s>]/;
const ATTRIBUTE = /\s(\w{1,20})\s*=\s*["']([^"']*)["']/g;
const ELEMENT = /^<(\/?)(?:[\w-]+:)?([\w-]+)/;

/** Timed text: each `p` or `text` element is a cue. */
function fromXml(text: string): ReadCue[] | undefined {
  const [found, root] = ROOT.exec(text.slice(0, 2_000)) ?? [];
  if (found === undefined || /<(?:!doctype\s+)?(?:html|svg)\b/i.test(text.slice(0, 2_000))) return undefined;
  const cues: ReadCue[] = [];
  let open: ReadCue | undefined;
  let at = 0;
  for (const { 0: tag, index } of text.matchAll(TAG)) {
    if (open) open.text += text.slice(at, index);
    at = index + tag.length;
    const [, slash, name = ''] = ELEMENT.exec(tag) ?? [];
    if (name === 'br' && open) open.text += '\n';
    if (name !== 'p' && name !== 'text') continue;
    open = slash === '/' || tag.endsWith('/>') ? undefined : { ...timesOf(tag), text: '' };
    if (open && cues.push(open) > MAX_CUES) return undefined;
  }
  // Video sites encode the text twice in this form.
  const decode = (one: string) =>
    root === 'transcript' ? decodeReferences(decodeReferences(one)) : decodeReferences(one);
  return cues.map((cue) => ({ ...cue, text: decode(cue.text) }));
}

/** `begin` and `end`, or seconds (`start` and `dur`), or milliseconds (`t` and `d`). */
function timesOf(tag: string): Pick<Cue, 'start' | 'end'> {
  const { t, d, begin, start, end, dur } = Object.fromEntries(
    Array.from(tag.matchAll(ATTRIBUTE), ([, name, value]) => [name, value]),
  ) as Partial<Record<string, string>>;
  if (t !== undefined) return { start: Number(t) / 1000, end: (Number(t) + Number(d ?? 0)) / 1000 };
  const from = timeOf(begin ?? start);
  return { start: from, end: end === undefined ? from + timeOf(dur ?? '0') : timeOf(end) };
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001, '': 1 };

/** `00:00:01.5`, `1.5s`, `1500ms` or `1.5` in seconds; NaN for anything else. */
function timeOf(text = ''): number {
  const [clocked, hours, minutes, seconds, fraction = '0'] = /^(\d+):(\d\d):(\d\d)(?:\.(\d+))?$/.exec(text) ?? [];
  if (clocked !== undefined) return secondsOf([hours, minutes, seconds, fraction]);
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(h|m|s|ms)?$/.exec(text) ?? [];
  return amount === undefined ? Number.NaN : Number(amount) * (UNITS[unit] ?? Number.NaN);
}

interface TimedJson {
  events?: unknown;
  utterances?: unknown;
}
interface TimedEvent {
  tStartMs?: unknown;
  dDurationMs?: unknown;
  segs?: unknown;
}
interface Utterance {
  start_time?: unknown;
  end_time?: unknown;
  text?: unknown;
}

/** Events with segments (video sites), or utterances (short videos). */
function fromJson(text: string): ReadCue[] | undefined {
  let json: TimedJson;
  try {
    json = JSON.parse(text) as TimedJson;
  } catch {
    return undefined;
  }
  const { events, utterances } = json;
  if (Array.isArray(events) && events.length <= MAX_CUES) {
    return (events as (TimedEvent | null)[]).map((event) => {
      const start = Number(event?.tStartMs) / 1000;
      const segments = Array.isArray(event?.segs) ? (event.segs as ({ utf8?: unknown } | null)[]) : [];
      const words = segments.map((segment) => (typeof segment?.utf8 === 'string' ? segment.utf8 : ''));
      return { start, end: start + Number(event?.dDurationMs ?? 0) / 1000, text: words.join('') };
    });
  }
  if (!Array.isArray(utterances) || utterances.length > MAX_CUES) return undefined;
  return (utterances as (Utterance | null)[]).map((one) => ({
    start: Number(one?.start_time) / 1000,
    end: Number(one?.end_time) / 1000,
    text: typeof one?.text === 'string' ? one.text : '',
  }));
}

/** Cues that follow one another within this time belong to one line that rolls. */
const ROLLING_SECONDS = 0.1;
const MAX_ROLLING_LINES = 4;

/** Takes the lines away that a cue repeats of the one before, if the captions roll. */
function joinRolling(cues: readonly ReadCue[]): Cue[] {
  const rolls = cues.some(({ isRolling }) => isRolling);
  const joined: Cue[] = [];
  let shown: { lines: readonly string[]; end: number } | undefined;
  for (const { start, end, text } of cues) {
    const lines = text.split('\n');
    const follows = rolls && shown !== undefined && start - shown.end <= ROLLING_SECONDS;
    const fresh = follows ? lines.slice(repeatedLines(shown?.lines ?? [], lines)) : lines;
    shown = { lines, end };
    const last = joined.at(-1);
    if (fresh.length > 0) joined.push({ start, end, text: fresh.join('\n') });
    else if (last) last.end = Math.max(last.end, end);
  }
  return joined;
}

/** How many of the first lines are the last ones of what was shown before. */
function repeatedLines(before: readonly string[], lines: readonly string[]): number {
  for (let count = Math.min(before.length, lines.length, MAX_ROLLING_LINES); count > 0; count -= 1) {
    if (lines.slice(0, count).every((line, index) => line === before[before.length - count + index])) return count;
  }
  return 0;
}
