import { type Author, type MediaEntry, type PartialPost, type Precision, parseCount } from 'mediagate';
import type { Facts } from './facts.js';
import { usernameIn } from './links.js';
import { absoluteUrl, imageEntry, readAddress } from './media-address.js';
import type { PageTags } from './page-tags.js';
import { essence, hashtagsIn, isCut } from './text.js';

/** What there is besides the tags. */
export interface TagsContext {
  facts: Facts;
  /** Whether the link names a group, whose name the titles then bear. */
  inGroup: boolean;
  isVideo: boolean;
  /** Numeric id of the author, from the page's route. */
  authorId?: string;
}

/**
 * What a page's tags say. Titles come as "author", "author - text…", "counters | text | author", "text - author | site"
 * and "author on site", in every language; which part is the author shows by comparing with the description.
 */
export function parseTags(tags: PageTags, context: TagsContext): PartialPost {
  const heading = readHeading(tags, context);
  const name = heading.author ?? authorName(tags, context);
  const caption = captionOf(tags, heading.text, name);
  const address = tags.canonical ?? tags.address;
  const username = context.inGroup ? undefined : usernameIn(address);
  const author: Author = {
    name,
    id: context.authorId,
    username,
    url: username || context.authorId ? `https://www.facebook.com/${username ?? context.authorId}` : undefined,
  };
  const image = absoluteUrl(tags.image);
  const video = absoluteUrl(tags.video);
  const files: MediaEntry[] = video
    ? [
        {
          url: video,
          kind: 'video',
          mime: 'video/mp4',
          has_video: true,
          has_audio: true,
          width: tags.videoWidth,
          height: tags.videoHeight,
          expires_at: readAddress(video).expires_at,
        },
      ]
    : [];
  return {
    common: {
      caption,
      description: caption,
      title: context.inGroup && !caption ? tags.heading : undefined,
      author: name || context.authorId ? author : undefined,
      thumbnail: image,
      tags: hashtagsIn(caption),
    },
    ids: { author_id: context.authorId },
    metrics: heading.metrics,
    precision: heading.precision,
    raw_stats: heading.raw,
    media: {
      image_urls: image ? [image] : [],
      video_urls: files.map(({ url }) => url),
      entries: [...files, ...(image ? [imageEntry(image)] : [])],
    },
    ...(files.length > 0 && { audio: true }),
  };
}

interface Heading {
  author?: string;
  text?: string;
  metrics: NonNullable<PartialPost['metrics']>;
  precision: Record<string, Precision>;
  raw: Record<string, string>;
}

/** "1.2M views · 34K reactions | the text | the author". */
function readHeading({ heading, description }: PageTags, { facts, inGroup }: TagsContext): Heading {
  const parts = (heading ?? '').split(/\s[|｜]\s/);
  const counts: Heading = { metrics: {}, precision: {}, raw: {} };
  if (parts.length < 2 || inGroup) return counts;
  const [first = ''] = parts;
  const counted = readCounters(first, facts, counts);
  const rest = (counted ? parts.slice(1) : parts).filter((part) => !isSiteTitle(part, facts));
  if (!counted && rest.length < 2) return counts;
  // "author | text" without counters, else "text | author".
  const isLeading = !counted && rest.length === 2 && startsAs(description, rest[1] ?? '');
  const named = isLeading ? rest[0] : rest.length > 1 ? rest.at(-1) : undefined;
  const author = named?.trim().replace(/^By (?=\S)/, '');
  const text = rest
    .filter((_part, index) => named === undefined || index !== (isLeading ? 0 : rest.length - 1))
    .join(' | ')
    .trim();
  return { ...counts, author: author || undefined, text: text || undefined };
}

function startsAs(text: string | undefined, part: string): boolean {
  const beginning = essence(part).slice(0, 60);
  return beginning.length >= 3 && essence(text ?? '').startsWith(beginning);
}

function readCounters(text: string, facts: Facts, into: Heading): boolean {
  let any = false;
  for (const part of text.split('·')) {
    const words = part.toLowerCase();
    const metric = (['views', 'likes', 'comments', 'shares'] as const).find((one) =>
      facts.counters[one].some((word) => words.includes(word)),
    );
    const count = metric && /^[\s\p{Z}]*[\p{Nd}]/u.test(part) && part.trim().length < 60 ? parseCount(part) : undefined;
    if (!metric || !count) continue;
    any = true;
    into.metrics[metric] = count.value;
    // Thousands are always rounded here, with a unit or without.
    into.precision[metric] = count.exact ? 'exact' : 'rounded';
    into.raw[`og_${metric}`] = part.trim();
  }
  return any;
}

function isSiteTitle(text: string, facts: Facts): boolean {
  const words = text.trim().toLowerCase();
  return words === '' || facts.siteTitles.includes(words);
}

/** "Author - text…" where the text is the description's, "text - Author | Facebook", "Author on Facebook Watch". */
function authorName(tags: PageTags, context: TagsContext): string | undefined {
  if (context.inGroup) return undefined;
  const { heading } = tags;
  const text = essence(tags.description ?? '');
  for (const title of [heading, tags.title]) {
    const before = title && nameBefore(title, text);
    if (before && !isSiteTitle(before, context.facts)) return before;
  }
  const onSite = heading && nameOnSite(heading, context.facts);
  if (onSite) return onSite;
  if (!heading || isSiteTitle(heading, context.facts) || heading.length > 100) return undefined;
  const title = tags.title ?? '';
  const confirmed = title.startsWith(`${heading} - `) || title.includes(`- ${heading}`);
  // A video's own title stands in the same place; a post has none.
  const isText = text !== '' && text.startsWith(essence(heading).slice(0, 40));
  return confirmed || (!context.isVideo && !isText) ? heading : undefined;
}

function nameBefore(title: string, text: string): string | undefined {
  for (let dash = title.indexOf(' - '); dash > 0; dash = title.indexOf(' - ', dash + 3)) {
    const rest = essence(title.slice(dash + 3).replace(/\s*\|\s*[^|]{0,30}$/, ''));
    if (rest.length >= 3 && text.startsWith(rest.slice(0, 60))) return title.slice(0, dash).trim() || undefined;
  }
  return undefined;
}

function nameOnSite(heading: string, facts: Facts): string | undefined {
  const words = heading.toLowerCase();
  const place = Math.max(...facts.onSite.map((phrase) => words.lastIndexOf(` ${phrase}`)));
  return place > 0 && words.length - place < 40 ? heading.slice(0, place).trim() || undefined : undefined;
}

/** The fullest of the texts: the tags cut it at various lengths. */
function captionOf(tags: PageTags, fromHeading: string | undefined, author: string | undefined): string | undefined {
  const { description, title } = tags;
  const behind =
    author && title?.startsWith(`${author} - `) ? title.slice(author.length + 3).replace(/\s\|\sFacebook$/, '') : '';
  const whole = description && !isCut(description) ? description : undefined;
  if (whole) return fromHeading && fromHeading.length > whole.length ? fromHeading : whole;
  const candidates = [fromHeading, behind].filter((text) => text && isSameText(text, description));
  const uncut = candidates
    .filter((text) => text && !isCut(text))
    .sort((one, other) => (other?.length ?? 0) - (one?.length ?? 0))[0];
  return uncut || description || fromHeading;
}

function isSameText(text: string, description: string | undefined): boolean {
  if (description === undefined) return true;
  return (
    essence(text).startsWith(essence(description).slice(0, 60)) && essence(text).length >= essence(description).length
  );
}
