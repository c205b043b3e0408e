/*
 * Reads the tags for link previews, whose texts are in the interface language that the site chose. Tags count only if
 * every address in them is that of the requested post. A description begins with counters, then names the author, then
 * quotes the caption; the patterns cover several word orders and the formats since 2017. Words of site-config.json
 * distinguish views and comments from likes. If comments stand without likes, the owner hides the likes. Of two
 * captions the longer one is used, since old pages cut one.
 */

import { asId, type Count, findPhrase, metaTags, parseCount, shownCounters, toIsoTime } from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity, shortcodeInAddress, usernameInAddress } from '../links.js';
import { imageEntry, postMedia, videoEntry } from './media.js';
import { asUsername, buildPost, type PostReading, profileUrl } from './post.js';

/**
 * Reads the tags that a page has for link previews. Without a `reading`, they are not about the requested post; `other`:
 * they are about another one.
 */
export function parseTags(html: string, identity: PostIdentity, { phrases }: SiteConfig) {
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
  const video = videoEntry({
    url: tags.get('og:video:secure_url') ?? tags.get('og:video'),
    width: tags.get('og:video:width'),
    height: tags.get('og:video:height'),
  });
  const titled = splitCaption(heading).caption ?? '';
  const post = buildPost(identity, {
    // Old pages cut the caption in one of its two tags, in the middle of a word.
    caption: (described.caption?.length ?? 0) > titled.length ? described.caption : titled || undefined,
    author: { id: asId(tags.get('instapp:owner_user_id')), username, name, url: profileUrl(username) },
    published_at: timeIn(heading) ?? timeIn(title ?? '') ?? described.published_at,
    media: postMedia(image ? [image] : [], video ? [video] : []),
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

const DASH = /\s[-–—―]\s/;
/** A caption begins with the first quote after a colon. */
const CAPTION_START = /[:：]\s*["“„«‹「『]/;
const CLOSING = '"”“»›」』';
const MAX_HEAD = 200;
const ENGLISH_DAY = /\b([A-Z][a-z]{2,8} \d{1,2}, \d{4})\b/;

/**
 * Reads the description for link previews, e.g. `12K likes, 215 comments - name on June 12, 2026: "caption". `, in any
 * interface language: counters first, then the author, then the caption in quotes. `raw` is the text of the counters.
 */
export function parseDescription(
  text: string,
  phrases: SiteConfig['phrases'],
): ReturnType<typeof countersOf> & Partial<Record<'username' | 'name' | 'caption' | 'published_at' | 'raw', string>> {
  // Until 2017: `See this Instagram photo by @name • 1,234 likes`.
  const early = /@([\w.]+)\s+[•·]\s+([^"“]{1,80})$/.exec(text);
  if (early) return { ...countersOf(early[2] ?? '', phrases), username: asUsername(early[1]), raw: early[2] };
  const dash = DASH.exec(text.slice(0, MAX_HEAD));
  const before = dash ? text.slice(0, dash.index) : '';
  const head = isCounters(before) ? before : '';
  const rest = dash && head ? text.slice(dash.index + dash[0].length) : text;
  const { about, caption } = splitCaption(rest);
  return {
    ...countersOf(head, phrases),
    ...parseOwner(about),
    caption,
    published_at: toIsoTime(ENGLISH_DAY.exec(about)?.[1]),
    raw: head || undefined,
  };
}

/** Without counters, the dash may belong to the caption. */
function isCounters(head: string): boolean {
  return /\p{Nd}/u.test(head) && !head.includes('@') && !CAPTION_START.test(head) && !ENGLISH_DAY.test(head);
}

/** The text before a caption, and the caption up to its last closing quote, since it may contain quotes. */
function splitCaption(text: string): { about: string; caption?: string } {
  const start = CAPTION_START.exec(text);
  if (!start) return { about: text.slice(0, MAX_HEAD) };
  const opening = start.index + start[0].length - 1;
  const inner = text.slice(opening + 1).replace(/(?<![\s.。।])[\s.。।]+$/, '');
  const caption = CLOSING.includes(inner.at(-1) ?? ' ') ? inner.slice(0, -1) : inner;
  return { about: text.slice(0, opening), caption: caption.trim() || undefined };
}

/** The names in `Name (@user) • Instagram reel`. */
export function parseOwner(text: string): { name?: string; username?: string } {
  const both = /^(.*?)[(（]@([\w.]+)[)）]/s.exec(text);
  if (both) return { name: both[1]?.trim() || undefined, username: asUsername(both[2]) };
  // A user name is at the beginning, and a date follows.
  const first = /^([A-Za-z0-9._]+)(?=\s)/.exec(text)?.[1];
  return { username: first && /\d{4}/.test(text) ? asUsername(first) : undefined };
}

function countersOf(head: string, phrases: SiteConfig['phrases']) {
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
