import { metaTags, type PartialPost, toIsoTime } from 'mediagate';
import type { Facts } from '../facts.js';
import { canonicalUrl, shortcodeInAddress, usernameInAddress } from '../links.js';
import { bareShortcode, type PostIdentity } from '../shortcode.js';
import { hashtagsIn } from './caption-tags.js';
import { captionOfTitle, parseDescription, whoseOf } from './description.js';
import { imageEntry, videoEntry } from './media.js';
import type { PostReading } from './reading.js';
import { digits, profileUrl } from './values.js';

/** What a page says of itself in its tags. */
export interface TagsReading {
  /** Undefined unless the tags are about the requested post. */
  reading?: PostReading;
  /** They are about another post. */
  other: boolean;
  title?: string;
}

/** Reads the tags that a page has for link previews. */
export function parseTags(html: string, identity: PostIdentity, { phrases }: Facts): TagsReading {
  const tags = metaTags(html);
  const title = tags.get('title');
  const whose = statedIdentity(tags);
  if (whose.length === 0) return { other: false, title };
  if (!whose.every((one) => one === identity.mediaId || one === bareShortcode(identity.shortcode))) {
    return { other: true, title };
  }
  const described = parseDescription(tags.get('og:description') ?? tags.get('description') ?? '', phrases);
  const owner = whoseOf(tags.get('twitter:title') ?? '');
  const heading = tags.get('og:title') ?? '';
  const username = usernameInAddress(tags.get('og:url')) ?? owner.username ?? described.username;
  const name = owner.name ?? described.name ?? nameIn(heading);
  if (!username && !name) return { other: false, title };
  const caption = longer(captionOfTitle(heading), described.caption);
  const image = imageEntry({ url: tags.get('og:image') ?? tags.get('twitter:image') });
  const video = videoOf(tags);
  const authorId = digits(tags.get('instapp:owner_user_id'));
  const { mediaId, shortcode } = identity;
  const post: PartialPost = {
    common: {
      caption,
      description: caption,
      tags: hashtagsIn(caption),
      author: { id: authorId, username, name, url: profileUrl(username) },
      thumbnail: image?.url,
      published_at: timeIn(heading) ?? timeIn(title ?? '') ?? described.published_at,
    },
    ids: { post_id: mediaId, shortcode, author_id: authorId, canonical_url: canonicalUrl(shortcode) },
    metrics: described.metrics,
    precision: described.precision,
    media: {
      image_urls: image ? [image.url] : [],
      video_urls: video ? [video.url] : [],
      entries: [...(image ? [image] : []), ...(video ? [video] : [])],
    },
    audio: video !== undefined,
    raw_stats: described.raw ? { description: described.raw } : {},
  };
  return { reading: { source: 'page_tags', post, hasVideo: video ? true : saysVideo(tags) }, other: false, title };
}

/** Every name of a post that the tags state, shortcode or id. */
function statedIdentity(tags: ReadonlyMap<string, string>): string[] {
  const addresses = ['og:url', 'canonical', 'al:android:url'].map((name) => shortcodeInAddress(tags.get(name)));
  const app = /^instagram:\/\/media\?id=(\d+)/.exec(tags.get('al:ios:url') ?? '')?.[1];
  return [...addresses.map((code) => code && bareShortcode(code)), app].filter((one) => one !== undefined);
}

function videoOf(tags: ReadonlyMap<string, string>) {
  const url = tags.get('og:video:secure_url') ?? tags.get('og:video');
  return videoEntry({ url, width: tags.get('og:video:width'), height: tags.get('og:video:height') }, undefined);
}

function saysVideo(tags: ReadonlyMap<string, string>): boolean | undefined {
  if (/\/(?:reel|tv)\//.test(`${tags.get('og:url')} ${tags.get('canonical')}`)) return true;
  if (/video/.test(tags.get('og:type') ?? '')) return true;
  return /\b(?:reel|video)\b$/i.test(tags.get('twitter:title') ?? '') || undefined;
}

/** `Name on Instagram: "…"` in the word order of various interface languages, and `Instagram photo by Name • May 1, 2019`. */
const NAMES = [
  /^Instagram (?:photo|video|post|reel) by (.+?) [•·] /su,
  /^(.+?)\sInstagram['’][dt][ae](?!\p{L})/su,
  /^(.+?)のInstagram/su,
  /^Instagram\s*(?:上的|의|पर|-এ)(.+?)(?:님\s*)?(?:[:：]|$)/su,
  /^(.+?)\s\p{L}{1,4}\s+Instagram/su,
];

function nameIn(heading: string): string | undefined {
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

/** Old pages cut the caption in one of the two places, in the middle of a word. */
function longer(one: string | undefined, other: string | undefined): string | undefined {
  return (other?.length ?? 0) > (one?.length ?? 0) ? other : one;
}
