/*
 * Reads the tags in the head of a page, in every interface language. Titles join counters, text, author and the name of
 * the site in several orders; a comparison with the description shows which part is which. Texts are compared by their
 * letters and digits alone. Of several texts the longest one that is not cut is the caption, if it begins as the
 * description does. In groups the title is the group's name. On photo pages, a description of the owner is not taken
 * for a caption.
 */

import { hashtagsIn, type PartialPost } from 'mediagate/plugin';
import { usernameIn } from '../links.js';
import { type CounterTexts, readCounterLine, readCounterList } from './counters.js';
import { imageEntry, mediaOf, siteUrl, videoEntry } from './media.js';
import type { PageTags } from './parts.js';
import type { SiteConfig } from './state.js';

/** What is known besides the tags. */
export interface TagsContext {
  siteConfig: SiteConfig;
  /** In a group, titles have the name of the group. */
  inGroup: boolean;
  isVideo: boolean;
  isPhoto?: boolean;
  /** Numeric id of the author, from the page's route. */
  authorId?: string;
  /** The text in the markup; it may be that of another post. */
  message?: string;
}

/**
 * Reads the tags of a page. Titles have the forms "author", "author - text…", "counters | text | author",
 * "text - author | site" and "author on site", in every language; comparing with the description shows which part is the
 * author.
 */
export function parseTags(given: PageTags, context: TagsContext): PartialPost {
  const tags = context.isPhoto && isOwnersDescription(given) ? { ...given, description: undefined } : given;
  const heading = readHeading(tags, context);
  const listed = readCounterList(tags.counted ?? '', context.siteConfig);
  const name = heading.author ?? authorName(tags, context) ?? tags.from;
  const caption = captionOf(tags, { ...context, fromHeading: heading.text, author: name });
  const username = context.inGroup ? undefined : usernameIn(tags.addresses?.[0]);
  const profile = username ?? context.authorId;
  const url = profile && `https://www.facebook.com/${profile}`;
  const image = siteUrl(tags.image);
  const video = siteUrl(tags.video);
  return {
    common: {
      caption,
      description: caption,
      title: titleOf(tags, heading, { ...context, name, caption }),
      author: name || profile ? { name, id: context.authorId, username, url } : undefined,
      thumbnail: image,
      tags: hashtagsIn(caption),
    },
    ids: { author_id: context.authorId },
    metrics: { ...listed.metrics, ...heading.metrics },
    precision: { ...listed.precision, ...heading.precision },
    raw_stats: { ...listed.raw_stats, ...heading.raw_stats },
    media: mediaOf([
      ...(video ? [{ ...videoEntry(video), width: tags.videoWidth, height: tags.videoHeight }] : []),
      ...(image ? [imageEntry(image)] : []),
    ]),
    ...(video && { audio: true }),
  };
}

interface Heading extends CounterTexts {
  author?: string;
  text?: string;
}

/** "1.2M views · 34K reactions | the text | the author". */
function readHeading({ heading, description }: PageTags, { siteConfig, inGroup }: TagsContext): Heading {
  const parts = (heading ?? '').split(/\s[|｜]\s/);
  const none: Heading = { metrics: {}, precision: {}, raw_stats: {} };
  if (parts.length < 2 || inGroup) return none;
  const [first = ''] = parts;
  const counted = startsAs(description, first) ? undefined : readCounterLine(first, siteConfig);
  const rest = (counted ? parts.slice(1) : parts).filter((part) => !isSiteTitle(part, siteConfig));
  if (!counted && rest.length < 2) return none;
  // "author | text" without counters, else "text | author".
  const isLeading = !counted && rest.length === 2 && startsAs(description, rest[1] ?? '');
  const named = rest.length < 2 ? undefined : isLeading ? rest.shift() : rest.pop();
  const author = named?.trim().replace(/^By (?=\S)/, '');
  const text = rest.join(' | ').trim();
  return { ...(counted ?? none), author: author || undefined, text: text || undefined };
}

/** A video has its title where a post has its author, and a post in a group the name of the group. */
function titleOf(
  { heading }: PageTags,
  { author }: Heading,
  { siteConfig, inGroup, isVideo, name, caption }: TagsContext & { name?: string; caption?: string },
): string | undefined {
  if (!heading || isSiteTitle(heading, siteConfig)) return undefined;
  if (inGroup) return caption ? undefined : heading;
  const isOwn = isVideo && author === undefined && !(name && heading.includes(name)) && !caption?.startsWith(heading);
  return isOwn && readCounterLine(heading, siteConfig) === undefined ? heading : undefined;
}

/** The longest of the texts, which the tags cut at different lengths. */
function captionOf(
  tags: PageTags,
  { siteConfig, fromHeading, author, message }: TagsContext & { fromHeading?: string; author?: string },
): string | undefined {
  const { description, title } = tags;
  if (description && !isCut(description)) {
    return fromHeading && fromHeading.length > description.length ? fromHeading : description;
  }
  const isBehind = author && title?.startsWith(`${author} - `);
  const behind = isBehind ? title?.slice(author.length + 3).replace(/\s\|\sFacebook$/, '') : undefined;
  const texts = [fromHeading, behind, description && message].filter((text) => text !== undefined);
  const [longest] = texts
    .filter((text) => !isSiteTitle(text, siteConfig) && !isCut(text) && isSameText(text, description))
    .sort((one, other) => other.length - one.length);
  return longest ?? (description || fromHeading);
}

function isSameText(text: string, description: string | undefined): boolean {
  if (description === undefined) return true;
  return (
    essence(text).startsWith(essence(description).slice(0, 60)) && essence(text).length >= essence(description).length
  );
}

/** Whether a text begins with a part of it. */
function startsAs(text: string | undefined, part: string): boolean {
  const beginning = essence(part).slice(0, 60);
  return beginning.length >= 3 && essence(text ?? '').startsWith(beginning);
}

/**
 * Whether the description is that of the owner of a photo. The title of a photo's page has the caption behind the name of
 * the owner; where it has the name alone, the photo has no caption.
 */
function isOwnersDescription({ heading, title, description }: PageTags): boolean {
  if (!heading || !description || !title?.startsWith(heading)) return false;
  const text = essence(description);
  return !title.includes(` - ${description}`) && [heading, title].every((one) => nameBefore(one, text) === undefined);
}

/** Whether a title is that of the site. */
function isSiteTitle(text: string, siteConfig: SiteConfig): boolean {
  const words = text.trim().toLowerCase();
  return words === '' || siteConfig.siteTitles.includes(words);
}

/** "Author - text…" where the text is the description's, "text - Author | Facebook", "Author on Facebook Watch". */
export function authorName(tags: PageTags, context: TagsContext): string | undefined {
  if (context.inGroup) return undefined;
  const { heading } = tags;
  const text = essence(tags.description ?? '');
  for (const title of [heading, tags.title]) {
    const before = title && nameBefore(title, text);
    if (before && !isSiteTitle(before, context.siteConfig)) return before;
  }
  const onSite = heading && nameOnSite(heading, context.siteConfig);
  if (onSite) return onSite;
  if (!heading || isSiteTitle(heading, context.siteConfig) || heading.length > 100) return undefined;
  const title = tags.title ?? '';
  const confirmed = title.startsWith(`${heading} - `) || title.includes(`- ${heading}`);
  // A video has its title in the same place; a post has none.
  const isText = text !== '' && text.startsWith(essence(heading).slice(0, 40));
  return confirmed || (!context.isVideo && !isText) ? heading : undefined;
}

/** Characters of a title after a name that are compared with the text. */
const COMPARED = 200;

function nameBefore(title: string, text: string): string | undefined {
  for (let dash = title.indexOf(' - '); dash > 0; dash = title.indexOf(' - ', dash + 3)) {
    const rest = essence(title.slice(dash + 3, dash + 3 + COMPARED).replace(/\|\s?[^|]{0,30}$/, ''));
    if (rest.length >= 3 && text.startsWith(rest.slice(0, 60))) return title.slice(0, dash).trim() || undefined;
  }
  return undefined;
}

function nameOnSite(heading: string, siteConfig: SiteConfig): string | undefined {
  const words = heading.toLowerCase();
  const place = Math.max(...siteConfig.onSite.map((phrase) => words.lastIndexOf(` ${phrase}`)));
  return place > 0 && words.length - place < 40 ? heading.slice(0, place).trim() || undefined : undefined;
}

/** Whether the site has cut a text, which then ends with an ellipsis. */
export function isCut(text: string): boolean {
  return /(?:\.\.\.|…)$/.test(text.trim());
}

/** The letters and digits of a text, to compare two forms of it. */
function essence(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}
