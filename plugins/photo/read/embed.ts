import {
  decodeEntities,
  findJsonAfter,
  type PartialPost,
  type Precision,
  parseCount,
  parseJson,
  splitScripts,
  toIsoTime,
} from 'mediagate';
import type { SiteConfig } from '../fetch.js';
import { bareShortcode, canonicalUrl, type PostIdentity, shortcodeInAddress } from '../links.js';
import { hashtagsIn } from './details.js';
import { bestImage, videoEntry } from './media.js';
import { readPageBlobs } from './page.js';
import { OTHER_POST, type PostOutcome, type PostReading } from './reading.js';
import { findMedia, readMedia } from './reply.js';
import { digits, profileUrl, username } from './values.js';

/** What an embed of a post amounts to: its data, and what its markup shows besides. */
export function readEmbedPage(html: string, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const { embedData, gate, brokenEmbed, loginPage } = siteConfig.markers;
  const blobs = [contextOf(html, embedData), ...readPageBlobs(splitScripts(html), identity, siteConfig)];
  const searches = blobs.flatMap((blob) => (blob === undefined ? [] : [findMedia(blob, identity, gate)]));
  const data = readMedia(
    searches.flatMap((search) => search.media),
    identity,
    'embed_data',
  );
  const shown = parseEmbedMarkup(html, identity);
  const found = [...data, ...(shown ? [shown] : [])];
  if (found.length > 0) return { kind: 'found', found };
  const holds = (marks: readonly string[]) => marks.some((mark) => html.includes(mark));
  if (holds(brokenEmbed)) {
    // The same words stand for a removed post and for one that is not for everybody.
    return { kind: 'definitive', code: 'removed', reason: messageOf(html) };
  }
  if (holds(loginPage))
    return { kind: 'transient', code: 'upstream_refused', reason: 'a login page in place of the embed' };
  if (searches.some((search) => search.otherPostOnly) || html.includes('class="Embed')) return OTHER_POST;
  return { kind: 'transient', code: 'upstream_refused', reason: 'another page in place of the embed' };
}

/** The post's data is a text within the data of the embed. */
function contextOf(html: string, name: string): unknown {
  const start = html.indexOf(`"${name}":"`) + name.length + 3;
  if (start < name.length + 3) return findJsonAfter(html, `"${name}"`)?.value;
  try {
    return parseJson(JSON.parse(html.slice(start, literalEnd(html, start))));
  } catch {
    // Cut off or not JSON: the markup has to do.
    return undefined;
  }
}

/** Index after the quote that closes the text which opens at `start`. */
function literalEnd(html: string, start: number): number {
  for (let close = html.indexOf('"', start + 1); close >= 0; close = html.indexOf('"', close + 1)) {
    let before = close - 1;
    while (html[before] === '\\') before -= 1;
    if ((close - before) % 2 === 1) return close + 1;
  }
  return html.length;
}

function messageOf(html: string): string | undefined {
  return /<div class="ebmMessage">([^<]{1,300})</.exec(html)?.[1]?.trim();
}

const MAX_MARKUP = 200_000;

/** What the markup of an embed shows; undefined unless it is the requested post's. */
export function parseEmbedMarkup(html: string, identity: PostIdentity): PostReading | undefined {
  const start = html.search(/<div class="Embed[\s"]/);
  if (start < 0) return undefined;
  const body = html.slice(start, start + MAX_MARKUP).replace(/<script[\s\S]*?(?:<\/script>|$)/g, '');
  const root = /^<div[^>]*>/.exec(body)?.[0] ?? '';
  if (!isOfPost(root, identity)) return undefined;
  const kind = attribute(root, 'data-media-type') ?? '';
  const name = username(textOf(body, 'UsernameText')) ?? username(textOf(body, 'CaptionUsername'));
  const authorId = digits(attribute(root, 'data-owner-id'));
  const image = imageOf(body);
  const video = videoEntry({ url: attribute(tagOf(body, '<video'), 'src') }, undefined);
  if (!name || !(image || video || body.includes('class="Caption"'))) return undefined;
  const caption = captionOf(body);
  const { mediaId, shortcode } = identity;
  const header = body.slice(0, indexOrEnd(body, 'EmbedFrame'));
  const post: PartialPost = {
    common: {
      caption,
      description: caption,
      tags: hashtagsIn(caption),
      author: {
        id: authorId,
        username: name,
        url: profileUrl(name),
        avatar: avatarOf(header, name),
        verified: header.includes('VerifiedSprite') ? true : undefined,
      },
      thumbnail: image?.url,
      published_at: toIsoTime(attribute(tagOf(body, '<time'), 'datetime')),
    },
    ids: { post_id: mediaId, shortcode, author_id: authorId, canonical_url: canonicalUrl(shortcode) },
    ...countersOf(body),
    media: {
      image_urls: image ? [image.url] : [],
      video_urls: video ? [video.url] : [],
      entries: [...(image ? [image] : []), ...(video ? [video] : [])],
    },
    audio: video !== undefined,
    raw_stats: kind ? { __typename: kind } : {},
  };
  return {
    source: 'embed_markup',
    post,
    hasVideo: video || /Video/.test(kind) ? true : undefined,
    // The markup shows the first item only.
    itemCount: /Sidecar/.test(kind) ? 2 : undefined,
  };
}

function isOfPost(root: string, { shortcode, mediaId }: PostIdentity): boolean {
  const id = digits(attribute(root, 'data-media-id'));
  const code = shortcodeInAddress(attribute(root, 'data-permalink'));
  if (id === undefined && code === undefined) return false;
  return (id ?? mediaId) === mediaId && bareShortcode(code ?? shortcode) === bareShortcode(shortcode);
}

function imageOf(body: string) {
  const tag = tagOf(body, '<img class="EmbeddedMediaImage"');
  const sized = (attribute(tag, 'srcset') ?? '').split(/,(?=https:)/).map((one) => {
    const [url, width] = one.trim().split(/\s+/);
    return { url, width: /^(\d+)w$/.exec(width ?? '')?.[1], height: undefined };
  });
  const widest = sized.sort((one, other) => Number(other.width ?? 0) - Number(one.width ?? 0))[0];
  return bestImage(widest?.url ? [widest] : []) ?? bestImage([{ url: attribute(tag, 'src') }]);
}

/** Of posts by several, the pictures of all of them stand there: each in a link to its profile. */
function avatarOf(header: string, name: string): string | undefined {
  const links = header.split(/(?=<a\s)/).filter((one) => one.includes('<img'));
  const own = links.find((link) => attribute(tagOf(link, '<a'), 'href')?.includes(`.com/${name}/`));
  return attribute(tagOf(own ?? (links.length === 1 ? header : ''), '<img'), 'src');
}

function captionOf(body: string): string | undefined {
  const start = body.indexOf('<div class="Caption">');
  if (start < 0) return undefined;
  const rest = body.slice(start + '<div class="Caption">'.length);
  const end = Math.min(indexOrEnd(rest, '<div class="CaptionComments"'), indexOrEnd(rest, '</div>'));
  const text = rest
    .slice(0, end)
    .replace(/^\s*<a class="CaptionUsername"[^>]*>[^<]*<\/a>/, '')
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<[^<>]*>/g, '');
  return decodeEntities(text).trim() || undefined;
}

function countersOf(body: string): Pick<PartialPost, 'metrics' | 'precision'> {
  const shown = {
    likes: singleCount(textOf(body, 'SocialProof')),
    comments: singleCount(textOf(body, 'CaptionCommentsExpand')),
    subscriber_count: singleCount(textOf(body, 'FollowerCountText')),
  };
  const metrics: Record<string, number> = {};
  const precision: Record<string, Precision> = {};
  for (const [name, count] of Object.entries(shown)) {
    if (!count) continue;
    metrics[name] = count.value;
    precision[name] = count.exact ? 'exact' : 'rounded';
  }
  return { metrics, precision };
}

/** A count that stands alone: next to names of people, digits may be theirs. */
function singleCount(text: string | undefined) {
  const groups = text?.match(/\p{Nd}[\p{Nd}.,'’٫٬\u00a0\u202f ]*/gu) ?? [];
  return text !== undefined && groups.length === 1 ? parseCount(text) : undefined;
}

/** The text of the first element of a class, without inner tags. */
function textOf(body: string, className: string): string | undefined {
  const open = new RegExp(`<(\\w+) class="${className}"[^<>]*>`).exec(body);
  if (!open) return undefined;
  const start = open.index + open[0].length;
  const inner = body.slice(start, start + indexOrEnd(body.slice(start), `</${open[1]}>`));
  return decodeEntities(inner.replace(/<[^<>]*>/g, ' ')).trim() || undefined;
}

function tagOf(body: string, opening: string): string {
  const start = body.indexOf(opening);
  return start < 0 ? '' : body.slice(start, start + indexOrEnd(body.slice(start), '>'));
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined || value === '' ? undefined : decodeEntities(value);
}

function indexOrEnd(text: string, part: string): number {
  const index = text.indexOf(part);
  return index < 0 ? text.length : index;
}
