import {
  type Author,
  asPositive,
  decodeEntities,
  type MediaEntry,
  type PartialPost,
  type Precision,
  parseCount,
  toIsoTime,
} from 'mediagate';
import { isAlias, itemAt, usernameIn } from './links.js';
import { absoluteUrl, imageEntry } from './media-address.js';
import { parseMessage } from './parse-message.js';
import { parsePluginVideo } from './plugin-video.js';
import { hashtagsIn } from './text.js';

const COUNTERS: ReadonlyMap<string, 'likes' | 'comments' | 'shares'> = new Map([
  ['Like', 'likes'],
  ['Comment', 'comments'],
  ['Share', 'shares'],
]);
/** Characters of a counter's text. */
const LONGEST_COUNTER = 30;
/** Picture addresses with this mark are of profiles, not of posts. */
const PROFILE_PICTURE = /\/t39\.30808-1\/|\/t1\.(?:0|18169|6435)-1\//;

/** The page that other sites embed; undefined where it is not about the item. */
export function parsePlugin(html: string, id: string): PartialPost | undefined {
  const permalink = permalinkIn(html, id);
  if (!permalink) return parsePluginVideo(html, id);
  const number = itemAt(permalink)?.id;
  const video = parsePluginVideo(html, itemAt(permalink)?.kind === 'post' ? undefined : id);
  const time = /<abbr[^<>]*data-utime="(\d{9,10})"/.exec(html)?.[1];
  const message = parseMessage([html]);
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
    ids: number !== undefined && number !== id && !isAlias(number) ? { post_id: number } : {},
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

/**
 * The link of the post shown. Under an alias the page knows it by its number or by another alias: then that is the one
 * post whose link stands around the time.
 */
function permalinkIn(html: string, id: string): string | undefined {
  const links = Array.from(html.matchAll(/href="([^"]{2,2000})"/g), ([, address]) => decodeEntities(address as string));
  const own = links.find((address) => itemAt(address)?.id === id);
  if (own || !isAlias(id)) return own;
  const dated = Array.from(html.matchAll(/<a\s[^<>]*>\s*<abbr\b/g), ([tag]) => attribute(tag, 'href')).filter(Boolean);
  const [only] = dated;
  return dated.length === 1 && itemAt(only) ? only : undefined;
}

function authorIn(html: string, permalink: string): Author | undefined {
  const portrait = imagesIn(html).find((tag) => attribute(tag, 'role') === 'img' && attribute(tag, 'aria-label'));
  const linked =
    /ref=embed_post"[^<>]{0,1000}>\s*<span[^<>]*>([^<]{1,200})<\/span>/.exec(html) ??
    /<span class="_2_79[^"]*">([^<]{1,200})<\/span>/.exec(html);
  const name = (portrait ? attribute(portrait, 'aria-label') : decodeEntities(linked?.[1] ?? '')).trim();
  if (!name) return undefined;
  const username = usernameIn(permalink);
  return {
    name,
    username,
    url: username ? `https://www.facebook.com/${username}` : undefined,
    avatar: portrait && absoluteUrl(attribute(portrait, 'src')),
    verified: /aria-label="Verified\b/.test(html) || undefined,
  };
}

function picturesIn(html: string): MediaEntry[] {
  return imagesIn(html).flatMap((tag) => {
    const url = absoluteUrl(attribute(tag, 'src'));
    const isPost = url && !PROFILE_PICTURE.test(url) && /^https:\/\/(?:scontent|external)[^/]*\//.test(url);
    return isPost && (asPositive(attribute(tag, 'width')) ?? 100) >= 100
      ? [imageEntry(url, attribute(tag, 'width'), attribute(tag, 'height'))]
      : [];
  });
}

/** The tags of a page's pictures. */
function imagesIn(html: string): readonly string[] {
  return html.match(/<img\b[^<>]*>/g) ?? [];
}

/** An attribute's value; empty where the tag has none. */
function attribute(tag: string, name: string): string {
  return decodeEntities(new RegExp(`\\s${name}="([^"]{0,5000})"`).exec(tag)?.[1] ?? '');
}

/** Each counter is the text of a link with an icon before it. */
function countersIn(html: string) {
  const metrics: NonNullable<PartialPost['metrics']> = {};
  const precision: Record<string, Precision> = {};
  const raw: Record<string, string> = {};
  let metric: ReturnType<typeof COUNTERS.get>;
  for (const match of html.matchAll(/<(\/?\w*)[^<>]*>\s*/g)) {
    const [{ length }, name = ''] = match;
    const isIcon = name === 'i' || name === '/i';
    if (!isIcon) metric = COUNTERS.get(attribute(match[0], 'title'));
    if (!metric || metrics[metric] !== undefined) continue;
    const start = match.index + length;
    const text =
      html
        .slice(start, start + LONGEST_COUNTER)
        .split('<', 1)[0]
        ?.trim() ?? '';
    if (text === '') continue;
    const count = parseCount(text);
    if (count) {
      metrics[metric] = count.value;
      precision[metric] = count.exact ? 'exact' : 'rounded';
      raw[`plugin_${metric}`] = text;
    }
    metric = undefined;
  }
  return { metrics, precision, raw };
}
