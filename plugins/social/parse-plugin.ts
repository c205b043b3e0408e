import {
  type Author,
  decodeEntities,
  type MediaEntry,
  type PartialPost,
  type Precision,
  parseCount,
  toIsoTime,
} from 'mediagate';
import { itemAt, usernameIn } from './links.js';
import { absoluteUrl, imageEntry, pixels, readAddress } from './media-address.js';
import { hashtagsIn } from './text.js';

const COUNTERS: Readonly<Record<string, 'likes' | 'comments' | 'shares'>> = {
  Like: 'likes',
  Comment: 'comments',
  Share: 'shares',
};
/** Picture addresses with this mark are of profiles, not of posts. */
const PROFILE_PICTURE = /\/t39\.30808-1\/|\/t1\.(?:0|18169|6435)-1\//;

/** The page that other sites embed; undefined where it is not about the item. */
export function parsePlugin(html: string, id: string): PartialPost | undefined {
  const video = parseVideoData(html, id);
  const links = Array.from(html.matchAll(/href="([^"]{2,2000})"/g), ([, address]) => decodeEntities(address as string));
  const permalink = links.find((address) => itemAt(address)?.id === id);
  if (!permalink) return video;
  const time = /<abbr[^>]*data-utime="(\d{9,10})"/.exec(html)?.[1];
  const message = messageIn(html);
  const author = authorIn(html, permalink);
  const images = picturesIn(html);
  const { metrics, precision, raw } = countersIn(html);
  return {
    common: {
      ...video?.common,
      caption: message,
      description: message,
      author,
      thumbnail: images[0]?.url,
      published_at: toIsoTime(time),
      tags: hashtagsIn(message),
    },
    ids: {},
    metrics,
    precision,
    raw_stats: raw,
    media: {
      image_urls: images.map(({ url }) => url),
      video_urls: video?.media?.video_urls ?? [],
      entries: [...(video?.media?.entries ?? []), ...images],
    },
    ...(video?.audio && { audio: true }),
  };
}

function authorIn(html: string, permalink: string): Author | undefined {
  const named =
    /<img[^>]*\saria-label="([^"]{1,200})"[^>]*\srole="img"/.exec(html) ??
    /<img[^>]*\srole="img"[^>]*\saria-label="([^"]{1,200})"/.exec(html);
  const linked = /<a[^>]*\shref="[^"]*ref=embed_post"[^>]*>\s*<span[^>]*>([^<]{1,200})<\/span>/.exec(html);
  const name = decodeEntities(named?.[1] ?? linked?.[1] ?? '').trim();
  if (!name) return undefined;
  const username = usernameIn(permalink);
  const avatar = absoluteUrl(decodeEntities(/<img[^>]*\ssrc="([^"]{8,3000})"/.exec(named?.[0] ?? '')?.[1] ?? ''));
  return { name, username, url: username ? `https://www.facebook.com/${username}` : undefined, avatar };
}

/** The text with its paragraphs; icons bear their own character. */
function messageIn(html: string): string | undefined {
  const mark = html.indexOf('data-testid="post_message"');
  const start = mark < 0 ? -1 : html.indexOf('>', mark) + 1;
  if (start <= 0) return undefined;
  const markup = html.slice(start, divEnd(html, start));
  const text = markup
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/p>\s*<p[^>]*>/gi, '\n\n')
    .replace(/<[^>]{0,5000}>/g, '');
  return decodeEntities(text).trim() || undefined;
}

/** Index of the tag that closes the division whose content begins at `start`. */
function divEnd(html: string, start: number): number {
  const tags = /<(\/?)div\b/g;
  tags.lastIndex = start;
  for (let depth = 1, match = tags.exec(html); match; match = tags.exec(html)) {
    depth += match[1] ? -1 : 1;
    if (depth === 0) return match.index;
  }
  return html.length;
}

function picturesIn(html: string): MediaEntry[] {
  return Array.from(html.matchAll(/<img\b[^>]{1,6000}>/g), ([tag]) => {
    const attribute = (name: string) => decodeEntities(new RegExp(`\\s${name}="([^"]{0,5000})"`).exec(tag)?.[1] ?? '');
    const url = absoluteUrl(attribute('src'));
    const isPost = url && !PROFILE_PICTURE.test(url) && /^https:\/\/(?:scontent|external)[^/]*\//.test(url);
    return isPost && (pixels(attribute('width')) ?? 100) >= 100
      ? [imageEntry(url, attribute('width'), attribute('height'))]
      : [];
  }).flat();
}

function countersIn(html: string) {
  const metrics: NonNullable<PartialPost['metrics']> = {};
  const precision: Record<string, Precision> = {};
  const raw: Record<string, string> = {};
  for (const [, title = '', text = ''] of html.matchAll(
    /title="(Like|Comment|Share)"[^>]*>(?:\s*<i[^>]*>\s*<\/i>)*\s*([^<]{1,30})</g,
  )) {
    const metric = COUNTERS[title];
    const count = parseCount(text);
    if (!metric || !count || metrics[metric] !== undefined) continue;
    metrics[metric] = count.value;
    precision[metric] = count.exact ? 'exact' : 'rounded';
    raw[`plugin_${metric}`] = text.trim();
  }
  return { metrics, precision, raw };
}

const FILES = [
  ['HD', /"?(?:hd_src_no_ratelimit|hd_src|browser_native_hd_url|playable_url_quality_hd)"?:"(https:[^"]{8,4000})"/],
  ['SD', /"?(?:sd_src_no_ratelimit|sd_src|browser_native_sd_url|playable_url)"?:"(https:[^"]{8,4000})"/],
] as const;

/** The files in a video page's script, where that is the script of the requested video and of no other. */
function parseVideoData(html: string, id: string): PartialPost | undefined {
  const ids = new Set(Array.from(html.matchAll(/"?(?:video_id|videoID)"?:"(\d{5,20})"/g), ([, one]) => one));
  if (ids.size !== 1 || !ids.has(id)) return undefined;
  const entries = FILES.flatMap(([label, pattern]): MediaEntry[] => {
    const url = absoluteUrl(unescaped(pattern.exec(html)?.[1]));
    if (!url) return [];
    const { expires_at, bitrate, quality } = readAddress(url);
    return [
      {
        url,
        kind: 'video',
        mime: 'video/mp4',
        has_video: true,
        has_audio: true,
        quality: quality ?? label,
        bitrate,
        expires_at,
      },
    ];
  });
  if (entries.length === 0) return undefined;
  return { media: { video_urls: entries.map(({ url }) => url), entries }, audio: true };
}

function unescaped(text: string | undefined): string | undefined {
  return text
    ?.replaceAll('\\/', '/')
    .replace(/\\u0025/gi, '%')
    .replace(/\\u0026/gi, '&')
    .replace(/&amp;/g, '&');
}
