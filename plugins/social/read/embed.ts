/*
 * Reads the page that other sites embed, from its markup: author, text, time, pictures, counters and the files of one
 * video. The page counts only if it links to the requested item; an alias may appear as another one, and then the only
 * dated link is used. Files are taken only if the page names one video. The text is read tag by tag in one pass, with
 * its paragraphs and without the links that fold it; that reader also serves pages from before 2021.
 */

import {
  type Author,
  asPositive,
  decodeEntities,
  hashtagsIn,
  type MediaEntry,
  type PartialPost,
  toIsoTime,
} from 'mediagate/plugin';
import { isAlias, itemAt, usernameIn } from '../links.js';
import { addCounter, type CounterTexts } from './counters.js';
import { imageEntry, mediaOf, siteUrl, videoEntry } from './media.js';

const COUNTERS: ReadonlyMap<string, 'likes' | 'comments' | 'shares'> = new Map([
  ['Like', 'likes'],
  ['Comment', 'comments'],
  ['Share', 'shares'],
]);
/** Maximum characters of the text of a counter. */
const LONGEST_COUNTER = 30;
/** In the URLs of pictures of profiles. */
const PROFILE_PICTURE = /\/t39\.30808-1\/|\/t1\.(?:0|18169|6435)-1\//;

/** Reads the page that other sites embed; undefined if it is not about the item. */
export function parsePlugin(html: string, id: string): PartialPost | undefined {
  const permalink = permalinkIn(html, id);
  if (!permalink) return parsePluginVideo(html, id);
  const number = itemAt(permalink)?.id;
  const video = parsePluginVideo(html, itemAt(permalink)?.kind === 'post' ? undefined : id);
  const time = /<abbr[^<>]*data-utime="(\d{9,10})"/.exec(html)?.[1];
  const message = parseMessage([html]);
  const author = authorIn(html, permalink);
  const images = picturesIn(html);
  return {
    common: {
      caption: message,
      description: message,
      author,
      thumbnail: images[0]?.url,
      published_at: toIsoTime(time),
      tags: hashtagsIn(message),
    },
    ids: number !== undefined && number !== id && !isAlias(number) ? { post_id: number } : {},
    ...countersIn(html),
    media: mediaOf([...(video?.media?.entries ?? []), ...images]),
    ...(video?.audio && { audio: true }),
  };
}

/**
 * The link of the post. The page may have the number of the post or another alias instead of an alias; then it is the
 * link around the only time.
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
    avatar: portrait && siteUrl(attribute(portrait, 'src')),
    verified: /aria-label="Verified\b/.test(html) || undefined,
  };
}

function picturesIn(html: string): MediaEntry[] {
  return imagesIn(html).flatMap((tag) => {
    const url = siteUrl(attribute(tag, 'src'));
    const isPost = url && !PROFILE_PICTURE.test(url) && /^https:\/\/(?:scontent|external)[^/]*\//.test(url);
    return isPost && (asPositive(attribute(tag, 'width')) ?? 100) >= 100
      ? [imageEntry(url, attribute(tag, 'width'), attribute(tag, 'height'))]
      : [];
  });
}

/** The tags of the pictures. */
function imagesIn(html: string): readonly string[] {
  return html.match(/<img\b[^<>]*>/g) ?? [];
}

/** The value of an attribute; empty if the tag has none. */
function attribute(tag: string, name: string): string {
  return decodeEntities(new RegExp(`\\s${name}="([^"]{0,5000})"`).exec(tag)?.[1] ?? '');
}

/** Each counter is the text of a link with an icon before it. */
function countersIn(html: string): CounterTexts {
  const counters: CounterTexts = { metrics: {}, precision: {}, raw_stats: {} };
  let metric: ReturnType<typeof COUNTERS.get>;
  for (const match of html.matchAll(/<(\/?\w*)(?!\w)[^<>]*>\s*/g)) {
    const [{ length }, name = ''] = match;
    const isIcon = name === 'i' || name === '/i';
    if (!isIcon) metric = COUNTERS.get(attribute(match[0], 'title'));
    if (!metric || counters.metrics[metric] !== undefined) continue;
    const start = match.index + length;
    const [text = ''] = html.slice(start, start + LONGEST_COUNTER).split('<', 1);
    if (text.trim() === '') continue;
    addCounter(counters, metric, text.trim(), 'plugin');
    metric = undefined;
  }
  return counters;
}

const FILES = [
  ['HD', /"?(?:hd_src_no_ratelimit|hd_src|browser_native_hd_url|playable_url_quality_hd)"?:"(https:[^"]{8,4000})"/],
  ['SD', /"?(?:sd_src_no_ratelimit|sd_src|browser_native_sd_url|playable_url)"?:"(https:[^"]{8,4000})"/],
] as const;

/** The files in the script of a page with one video: the requested one, or that of a post. */
function parsePluginVideo(html: string, id: string | undefined): PartialPost | undefined {
  const ids = new Set(Array.from(html.matchAll(/"?(?:video_id|videoID)"?:"(\d{5,20})"/g), ([, one]) => one));
  if (ids.size !== 1 || (id !== undefined && !ids.has(id))) return undefined;
  const entries = FILES.flatMap(([label, pattern]) => {
    const url = siteUrl(unescaped(pattern.exec(html)?.[1]));
    return url ? [videoEntry(url, label)] : [];
  });
  return entries.length > 0 ? { media: mediaOf(entries), audio: true } : undefined;
}

function unescaped(text: string | undefined): string | undefined {
  return text
    ?.replaceAll('\\/', '/')
    .replace(/\\u0025/gi, '%')
    .replace(/\\u0026/gi, '&')
    .replace(/&amp;/g, '&');
}

const MARKS = ['data-testid="post_message"', ' userContent'] as const;
/** Classes of the elements that replace the rest of a folded text and link to it. */
const NOT_THE_TEXT = /text_exposed_hide|text_exposed_link|see_more_link/;

/**
 * The text of a post in the markup of pages before 2021 and of pages for embedding, with its paragraphs. Undefined if
 * there is none.
 * @param markup The page without its scripts, in pieces.
 */
export function parseMessage(markup: readonly string[]): string | undefined {
  for (const mark of MARKS) {
    const first = markup.findIndex((piece) => piece.includes(mark));
    if (first >= 0) return messageAfter(markup.slice(first).join(''), mark);
  }
  return undefined;
}

/** Reads each tag once, up to the one that closes the division of the text. */
function messageAfter(html: string, mark: string): string | undefined {
  const start = html.indexOf('>', html.indexOf(mark)) + 1;
  if (start === 0) return undefined;
  const pieces: string[] = [];
  let divisions = 1;
  /** Index in `pieces` of what follows a closed paragraph, if that is blank so far. */
  let paragraphEnd = -1;
  let skipped: { name: string; depth: number } | undefined;
  const add = (text: string) => {
    if (skipped || text === '') return;
    pieces.push(text);
    if (text.trim() !== '') paragraphEnd = -1;
  };

  const tags = /<(\/?)(\w*)(?!\w)[^<>]*>/g;
  tags.lastIndex = start;
  let from = start;
  for (let match = tags.exec(html); match; match = tags.exec(html)) {
    const [tag, slash, name = ''] = match;
    const depth = slash ? -1 : 1;
    add(html.slice(from, match.index));
    from = tags.lastIndex;
    if (name === 'div') divisions += depth;
    if (divisions === 0) break;
    if (skipped) {
      if (name === skipped.name) skipped.depth += depth;
      if (skipped.depth === 0) skipped = undefined;
    } else if (!slash && (name === 'a' || name === 'span') && NOT_THE_TEXT.test(tag)) skipped = { name, depth };
    else if (name === 'br') add('\n');
    else if (name === 'p' && slash) paragraphEnd = pieces.length;
    else if (name === 'p' && paragraphEnd >= 0) pieces.splice(paragraphEnd, pieces.length, '\n\n');
  }
  if (divisions > 0) add(html.slice(from));
  return (
    decodeEntities(pieces.join(''))
      .replace(/(?<=\n) +|(?<! ) +(?=\n)/g, '')
      .trim() || undefined
  );
}
