/*
 * Reads the page that other sites embed: the post's data inside a JSON text, and what the markup shows. The markup
 * counts only if its root names the requested post; at most 200,000 characters are searched. It shows the first item of
 * a carousel only. A count is taken only if its text has a single number, because user names contain digits. The page
 * for broken embeds is no sign of removal: the site also shows it for private posts and where the owner switched
 * embedding off.
 */

import {
  asId,
  decodeEntities,
  findJsonAfter,
  parseCount,
  shownCounters,
  splitScripts,
  toIsoTime,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity, shortcodeInAddress } from '../links.js';
import { bestImage, postMedia, videoEntry } from './media.js';
import { readPageBlobs } from './page.js';
import { asUsername, buildPost, OTHER_POST, type PostOutcome, type PostReading, profileUrl, refused } from './post.js';
import { findReadings } from './reply.js';

/** Reads the embed of a post: its data, what its markup shows, or why it has neither. */
export function readEmbedPage(html: string, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const { markers } = siteConfig;
  const { embedData, brokenEmbed, loginPage } = markers;
  // The data of the post is a text within the data of the embed.
  const context = findJsonAfter(html, `"${embedData}"`)?.value;
  const blobs = [context, ...readPageBlobs(splitScripts(html), identity, siteConfig)];
  const searches = blobs.map((blob) => findReadings(blob, identity, markers, 'embed_data'));
  const shown = readEmbedMarkup(html, identity);
  const found = [...searches.flatMap(({ readings }) => readings), ...(shown ? [shown] : [])];
  if (found.length > 0) return { kind: 'found', found };
  const contains = (list: readonly string[]) => list.some((marker) => html.includes(marker));
  if (contains(brokenEmbed)) {
    // The site shows this page for removed and private posts, and for posts whose owners switched embedding off.
    const message = /<div class="ebmMessage">([^<]{1,300})</.exec(html)?.[1];
    return refused(message?.trim() || 'the embed does not show the post');
  }
  if (contains(loginPage)) return refused('a login page in place of the embed');
  if (searches.some((search) => search.otherPostOnly) || html.includes('class="Embed')) return OTHER_POST;
  return refused('another page in place of the embed');
}

const MAX_MARKUP = 200_000;

/** What the markup of an embed shows; undefined if it is not that of the requested post. */
export function readEmbedMarkup(html: string, identity: PostIdentity): PostReading | undefined {
  const start = html.search(/<div class="Embed[\s"]/);
  if (start < 0) return undefined;
  const body = html.slice(start, start + MAX_MARKUP).replace(/<script[\s\S]*?(?:<\/script>|$)/g, '');
  const root = /^<div[^>]*>/.exec(body)?.[0] ?? '';
  if (!isRequested(root, identity)) return undefined;
  const type = attribute(root, 'data-media-type') ?? '';
  const username = asUsername(textOf(body, 'UsernameText')) ?? asUsername(textOf(body, 'CaptionUsername'));
  const image = imageIn(body);
  const video = videoEntry({ url: attribute(tagIn(body, '<video'), 'src') });
  if (!username || !(image || video || body.includes('class="Caption"'))) return undefined;
  const header = body.slice(0, indexOrEnd(body, 'EmbedFrame'));
  const post = buildPost(identity, {
    caption: captionIn(body),
    author: {
      id: asId(attribute(root, 'data-owner-id')),
      username,
      url: profileUrl(username),
      avatar: avatarIn(header, username),
      verified: header.includes('VerifiedSprite') ? true : undefined,
    },
    published_at: toIsoTime(attribute(tagIn(body, '<time'), 'datetime')),
    media: postMedia(image ? [image] : [], video ? [video] : []),
  });
  const counters = shownCounters({
    likes: singleCount(textOf(body, 'SocialProof')),
    comments: singleCount(textOf(body, 'CaptionCommentsExpand')),
    subscriber_count: singleCount(textOf(body, 'FollowerCountText')),
  });
  return {
    source: 'embed_markup',
    post: { ...post, ...counters, raw_stats: type ? { __typename: type } : {} },
    hasVideo: video || /Video/.test(type) ? true : undefined,
    // The markup shows only the first item of a carousel.
    itemCount: /Sidecar/.test(type) ? 2 : undefined,
  };
}

function isRequested(root: string, { shortcode, mediaId }: PostIdentity): boolean {
  const id = asId(attribute(root, 'data-media-id'));
  const code = shortcodeInAddress(attribute(root, 'data-permalink'));
  if (id === undefined && code === undefined) return false;
  return (id ?? mediaId) === mediaId && bareShortcode(code ?? shortcode) === bareShortcode(shortcode);
}

function imageIn(body: string) {
  const tag = tagIn(body, '<img class="EmbeddedMediaImage"');
  const sized = (attribute(tag, 'srcset') ?? '').split(/,(?=https:)/).map((one) => {
    const [url, width] = one.trim().split(/\s+/);
    return { url, width: /^(\d+)w$/.exec(width ?? '')?.[1], height: undefined };
  });
  const widest = sized.sort((one, other) => Number(other.width ?? 0) - Number(one.width ?? 0))[0];
  return bestImage(widest?.url ? [widest] : []) ?? bestImage([{ url: attribute(tag, 'src') }]);
}

/** The header of a post by several users has the avatars of all, each in a link to its profile. */
function avatarIn(header: string, username: string): string | undefined {
  const links = header.split(/(?=<a\s)/).filter((one) => one.includes('<img'));
  const own = links.find((link) => attribute(tagIn(link, '<a'), 'href')?.includes(`.com/${username}/`));
  return attribute(tagIn(own ?? (links.length === 1 ? header : ''), '<img'), 'src');
}

function captionIn(body: string): string | undefined {
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

/** The count in a text, if it is the only number: others may belong to user names. */
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

function tagIn(body: string, opening: string): string {
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
