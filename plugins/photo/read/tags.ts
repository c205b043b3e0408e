import {
  asId,
  type Count,
  findPhrase,
  metaTags,
  type PartialPost,
  type Precision,
  parseCount,
  shownCounters,
  toIsoTime,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity, shortcodeInAddress, usernameInAddress } from '../links.js';
import { imageEntry, singleMedia, videoEntry } from './media.js';
import type { PostReading } from './post.js';
import { asUsername, buildPost, profileUrl } from './post.js';

interface TagsReading {
  /** Undefined if the tags are not about the requested post. */
  reading?: PostReading;
  /** The tags are about another post. */
  other: boolean;
  title?: string;
}

/** Reads the tags that a page has for link previews. */
export function parseTags(html: string, identity: PostIdentity, { phrases }: SiteConfig): TagsReading {
  const tags = metaTags(html);
  const title = tags.get('title');
  const stated = identitiesIn(tags);
  if (stated.length === 0) return { other: false, title };
  if (!stated.every((one) => one === identity.mediaId || one === bareShortcode(identity.shortcode))) {
    return { other: true, title };
  }
  const described = parseDescription(tags.get('og:description') ?? tags.get('description') ?? '', phrases);
  const owner = parseOwner(tags.get('twitter:title') ?? '');
  const heading = tags.get('og:title') ?? '';
  const username = usernameInAddress(tags.get('og:url')) ?? owner.username ?? described.username;
  const name = owner.name ?? described.name ?? authorNameIn(heading);
  if (!username && !name) return { other: false, title };
  const image = imageEntry({ url: tags.get('og:image') ?? tags.get('twitter:image') });
  const video = videoIn(tags);
  const post = buildPost(identity, {
    caption: longer(captionOfTitle(heading), described.caption),
    author: { id: asId(tags.get('instapp:owner_user_id')), username, name, url: profileUrl(username) },
    published_at: timeIn(heading) ?? timeIn(title ?? '') ?? described.published_at,
    media: singleMedia(image ? [image] : [], video ? [video] : []),
  });
  const { metrics, precision, raw } = described;
  const reading: PostReading = {
    source: 'page_tags',
    hasVideo: video ? true : isVideoPage(tags),
    post: { ...post, metrics, precision, raw_stats: raw ? { description: raw } : {} },
  };
  return { reading, other: false, title };
}

/** The shortcodes and ids of posts that the tags state. */
function identitiesIn(tags: ReadonlyMap<string, string>): string[] {
  const addresses = ['og:url', 'canonical', 'al:android:url'].map((name) => shortcodeInAddress(tags.get(name)));
  const app = /^instagram:\/\/media\?id=(\d+)/.exec(tags.get('al:ios:url') ?? '')?.[1];
  return [...addresses.map((code) => code && bareShortcode(code)), app].filter((one) => one !== undefined);
}

function videoIn(tags: ReadonlyMap<string, string>) {
  const url = tags.get('og:video:secure_url') ?? tags.get('og:video');
  return videoEntry({ url, width: tags.get('og:video:width'), height: tags.get('og:video:height') });
}

function isVideoPage(tags: ReadonlyMap<string, string>): boolean | undefined {
  if (/\/(?:reel|tv)\//.test(`${tags.get('og:url')} ${tags.get('canonical')}`)) return true;
  if (/video/.test(tags.get('og:type') ?? '')) return true;
  return /\b(?:reel|video)\b$/i.test(tags.get('twitter:title') ?? '') || undefined;
}

/** `Name on Instagram: "…"` in the word orders of interface languages, and `Instagram photo by Name • May 1, 2019`. */
const NAMES = [
  /^Instagram (?:photo|video|post|reel) by (.+?) [•·] /su,
  /^(.+?)\sInstagram['’][dt][ae](?!\p{L})/su,
  /^(.+?)のInstagram/su,
  /^Instagram\s*(?:上的|의|पर|-এ)(.+?)(?:님\s*)?(?:[:：]|$)/su,
  /^(.+?)\s\p{L}{1,4}\s+Instagram/su,
];

function authorNameIn(heading: string): string | undefined {
  const [name] = NAMES.flatMap((pattern) => pattern.exec(heading)?.[1]?.trim() || []);
  return name;
}

/** `Instagram photo by Name • May 1, 2019 at 3:04pm UTC`, until 2019. */
function timeIn(heading: string): string | undefined {
  const [, day, hour, minute, half] = /[•·] (\w+ \d{1,2}, \d{4}) at (\d{1,2}):(\d\d)([ap])m UTC$/.exec(heading) ?? [];
  const midnight = toIsoTime(day);
  if (!midnight || !hour) return undefined;
  const hours = (Number(hour) % 12) + (half === 'p' ? 12 : 0);
  return midnight.replace('T00:00', `T${String(hours).padStart(2, '0')}:${minute}`);
}

/** Old pages cut the caption in one of its two tags, in the middle of a word. */
function longer(one: string | undefined, other: string | undefined): string | undefined {
  return (other?.length ?? 0) > (one?.length ?? 0) ? other : one;
}

/** What `12K likes, 215 comments - name on June 12, 2026: "caption". ` says, the description for link previews. */
interface DescriptionReading {
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
const MAX_HEAD = 200;
const ENGLISH_DAY = /\b([A-Z][a-z]{2,8} \d{1,2}, \d{4})\b/;

/** Reads the description in any interface language: counters first, then the author, then the caption in quotes. */
export function parseDescription(text: string, phrases: SiteConfig['phrases']): DescriptionReading {
  // Until 2017: `See this Instagram photo by @name • 1,234 likes`.
  const early = /@([\w.]+)\s+[•·]\s+([^"“]{1,80})$/.exec(text);
  if (early) return { ...countersOf(early[2] ?? '', phrases), username: asUsername(early[1]), raw: early[2] };
  const dash = DASH.exec(text.slice(0, MAX_HEAD));
  const before = dash ? text.slice(0, dash.index) : '';
  const head = isCounters(before) ? before : '';
  const rest = dash && head ? text.slice(dash.index + dash[0].length) : text;
  const opening = quoteAfterColon(rest);
  const about = opening === undefined ? rest.slice(0, MAX_HEAD) : rest.slice(0, opening);
  return {
    ...countersOf(head, phrases),
    ...parseOwner(about),
    caption: opening === undefined ? undefined : quoted(rest, opening),
    published_at: toIsoTime(ENGLISH_DAY.exec(about)?.[1]),
    raw: head || undefined,
  };
}

/** Without counters, the dash may belong to the caption. */
function isCounters(head: string): boolean {
  return /\p{Nd}/u.test(head) && !head.includes('@') && quoteAfterColon(head) === undefined && !ENGLISH_DAY.test(head);
}

/** The text in quotes after `… on Instagram: `, in any interface language. */
function captionOfTitle(title: string): string | undefined {
  const opening = quoteAfterColon(title);
  return opening === undefined ? undefined : quoted(title, opening);
}

/** The names in `Name (@user) • Instagram reel`. */
export function parseOwner(text: string): Pick<DescriptionReading, 'username' | 'name'> {
  const both = /^(.*?)[(（]@([\w.]+)[)）]/s.exec(text);
  if (both) return { name: both[1]?.trim() || undefined, username: asUsername(both[2]) };
  // A user name is at the beginning, and a date follows.
  const first = /^([A-Za-z0-9._]+)(?=\s)/.exec(text)?.[1];
  return { username: first && /\d{4}/.test(text) ? asUsername(first) : undefined };
}

function countersOf(head: string, phrases: SiteConfig['phrases']): Pick<DescriptionReading, 'metrics' | 'precision'> {
  const counts: Record<string, Count> = {};
  const parts = head.split(/,\s+|，\s*|、|،\s*/).filter((part) => /\p{Nd}/u.test(part));
  for (const [index, part] of parts.entries()) {
    // In French, the letter after the number would be read as a unit.
    const count = parseCount(part.replace(/\sj[’']aime/i, ''));
    const isViews = findPhrase(part, phrases.views) !== undefined;
    const isComments = findPhrase(part, phrases.comments) !== undefined || (index > 0 && !isViews);
    if (count) counts[isComments ? 'comments' : isViews ? 'views' : 'likes'] ??= count;
  }
  const counters = shownCounters(counts);
  // Likes come first, also if there are none; they are left out if the owner hides them.
  if (parts.length === 1 && counts.comments) counters.precision.likes = 'hidden';
  return counters;
}

/** The index of the quote that begins a caption: the first one after a colon. */
function quoteAfterColon(text: string): number | undefined {
  const match = new RegExp(`[:：]\\s*[${OPENING}]`).exec(text);
  return match ? match.index + match[0].length - 1 : undefined;
}

/** The text from the opening quote to the last closing one, since a caption may contain quotes. */
function quoted(text: string, opening: number): string | undefined {
  const inner = text.slice(opening + 1).replace(/(?<![\s.。।])[\s.。।]+$/, '');
  const end = CLOSING.includes(inner.at(-1) ?? ' ') ? inner.slice(0, -1) : inner;
  return end.trim() || undefined;
}
