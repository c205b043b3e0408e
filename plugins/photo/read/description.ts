import { type PartialPost, type Precision, parseCount, toIsoTime } from 'mediagate';
import type { Facts } from '../facts.js';
import { username } from './values.js';

/** What the line under a link preview tells: `12K likes, 215 comments - name on June 12, 2026: "caption". `. */
export interface DescriptionReading {
  metrics: NonNullable<PartialPost['metrics']>;
  precision: Record<string, Precision>;
  username?: string;
  name?: string;
  caption?: string;
  published_at?: string;
  raw?: string;
}

const DASH = /\s[-–—―]\s/;
const OPENING = '"“„«‹「『';
const CLOSING = '"”“»›」』';
const LONGEST_HEAD = 200;
const ENGLISH_DAY = /\b([A-Z][a-z]{2,8} \d{1,2}, \d{4})\b/;

/** Reads the line in any interface language; numbers first, then whose it is, then the caption in quotes. */
export function parseDescription(text: string, phrases: Facts['phrases']): DescriptionReading {
  // Until 2017: `See this Instagram photo by @name • 1,234 likes`.
  const early = /@([\w.]+)\s+[•·]\s+([^"“]{1,80})$/.exec(text);
  if (early) return { ...countersOf(early[2] ?? '', phrases), username: username(early[1]), raw: early[2] };
  const dash = DASH.exec(text.slice(0, LONGEST_HEAD));
  const before = dash ? text.slice(0, dash.index) : '';
  const head = isCounters(before) ? before : '';
  const rest = dash && head ? text.slice(dash.index + dash[0].length) : text;
  const opening = quoteAfterColon(rest);
  const about = opening === undefined ? rest.slice(0, LONGEST_HEAD) : rest.slice(0, opening);
  return {
    ...countersOf(head, phrases),
    ...whoseOf(about),
    caption: opening === undefined ? undefined : quoted(rest, opening),
    published_at: toIsoTime(ENGLISH_DAY.exec(about)?.[1]),
    raw: head || undefined,
  };
}

/** Without counters, the dash may be one of the caption's. */
function isCounters(head: string): boolean {
  return /\p{Nd}/u.test(head) && !head.includes('@') && quoteAfterColon(head) === undefined && !ENGLISH_DAY.test(head);
}

/** The text in quotes after `… on Instagram: `, in any interface language. */
export function captionOfTitle(title: string): string | undefined {
  const opening = quoteAfterColon(title);
  return opening === undefined ? undefined : quoted(title, opening);
}

/** Name and user name in `Name (@user) • Instagram reel`. */
export function whoseOf(text: string): Pick<DescriptionReading, 'username' | 'name'> {
  const both = /^(.*?)[(（]@([\w.]+)[)）]/s.exec(text);
  if (both) return { name: both[1]?.trim() || undefined, username: username(both[2]) };
  // A user name stands at the beginning, and a date or the site's name follows.
  const first = /^([A-Za-z0-9._]+)(?=\s)/.exec(text)?.[1];
  return { username: first && /\d{4}/.test(text) ? username(first) : undefined };
}

function countersOf(head: string, phrases: Facts['phrases']): Pick<DescriptionReading, 'metrics' | 'precision'> {
  const metrics: Record<string, number> = {};
  const precision: Record<string, Precision> = {};
  const parts = head.split(/,\s+|，\s*|、|،\s*/).filter((part) => /\d|\p{Nd}/u.test(part));
  for (const [index, part] of parts.entries()) {
    // In French the letter after the number would be read as a unit.
    const count = parseCount(part.replace(/\sj[’']aime/i, ''));
    const lower = part.toLowerCase();
    const says = (words: readonly string[]) => words.some((word) => lower.includes(word));
    const comments = says(phrases.comments) || (index > 0 && !says(phrases.views));
    const name = comments ? 'comments' : says(phrases.views) ? 'views' : 'likes';
    if (!count || name in metrics) continue;
    metrics[name] = count.value;
    precision[name] = count.exact ? 'exact' : 'rounded';
  }
  // Likes come first, a 0 too; the line leaves out those that the owner hides.
  if (parts.length === 1 && 'comments' in metrics) precision.likes = 'hidden';
  return { metrics, precision };
}

/** Index of the quote that a caption begins with: the first one after a colon. */
function quoteAfterColon(text: string): number | undefined {
  const match = new RegExp(`[:：]\\s*[${OPENING}]`).exec(text);
  return match ? match.index + match[0].length - 1 : undefined;
}

/** What stands between the opening quote and the last closing one; a caption may hold quotes itself. */
function quoted(text: string, opening: number): string | undefined {
  const inner = text.slice(opening + 1).replace(/(?<![\s.。।])[\s.。।]+$/, '');
  const end = CLOSING.includes(inner.at(-1) ?? ' ') ? inner.slice(0, -1) : inner;
  return end.trim() || undefined;
}
