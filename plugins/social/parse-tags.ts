import type { Author, MediaEntry, PartialPost } from 'mediagate';
import { type CounterLine, readCounterLine, readCounterList } from './counter-lines.js';
import { usernameIn } from './links.js';
import { absoluteUrl, imageEntry, readAddress } from './media-address.js';
import type { PageTags } from './page-tags.js';
import { authorName, isOwnersDescription, isSiteTitle, startsAs, type TagsContext } from './tag-names.js';
import { essence, hashtagsIn, isCut } from './text.js';

/**
 * What a page's tags say. Titles come as "author", "author - text…", "counters | text | author", "text - author | site"
 * and "author on site", in every language; which part is the author shows by comparing with the description.
 */
export function parseTags(given: PageTags, context: TagsContext): PartialPost {
  const tags = context.isPhoto && isOwnersDescription(given) ? { ...given, description: undefined } : given;
  const heading = readHeading(tags, context);
  const listed = readCounterList(tags.counted ?? '', context.facts);
  const name = heading.author ?? authorName(tags, context) ?? tags.from;
  const caption = captionOf(tags, { ...context, fromHeading: heading.text, author: name });
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
      title: titleOf(tags, heading, { ...context, name, caption }),
      author: name || username || context.authorId ? author : undefined,
      thumbnail: image,
      tags: hashtagsIn(caption),
    },
    ids: { author_id: context.authorId },
    metrics: { ...listed.metrics, ...heading.metrics },
    precision: { ...listed.precision, ...heading.precision },
    raw_stats: { ...listed.raw, ...heading.raw },
    media: {
      image_urls: image ? [image] : [],
      video_urls: files.map(({ url }) => url),
      entries: [...files, ...(image ? [imageEntry(image)] : [])],
    },
    ...(files.length > 0 && { audio: true }),
  };
}

interface Heading extends CounterLine {
  author?: string;
  text?: string;
}

/** "1.2M views · 34K reactions | the text | the author". */
function readHeading({ heading, description }: PageTags, { facts, inGroup }: TagsContext): Heading {
  const parts = (heading ?? '').split(/\s[|｜]\s/);
  const none: Heading = { metrics: {}, precision: {}, raw: {} };
  if (parts.length < 2 || inGroup) return none;
  const [first = ''] = parts;
  const counted = startsAs(description, first) ? undefined : readCounterLine(first, facts);
  const rest = (counted ? parts.slice(1) : parts).filter((part) => !isSiteTitle(part, facts));
  if (!counted && rest.length < 2) return none;
  // "author | text" without counters, else "text | author".
  const isLeading = !counted && rest.length === 2 && startsAs(description, rest[1] ?? '');
  const named = isLeading ? rest[0] : rest.length > 1 ? rest.at(-1) : undefined;
  const author = named?.trim().replace(/^By (?=\S)/, '');
  const text = rest
    .filter((_part, index) => named === undefined || index !== (isLeading ? 0 : rest.length - 1))
    .join(' | ')
    .trim();
  return { ...(counted ?? none), author: author || undefined, text: text || undefined };
}

/** A video has a title of its own, which stands where a post has its author; of a group's post it is the group's name. */
function titleOf(
  { heading }: PageTags,
  { author }: Heading,
  { facts, inGroup, isVideo, name, caption }: TagsContext & { name?: string; caption?: string },
): string | undefined {
  if (!heading || isSiteTitle(heading, facts)) return undefined;
  if (inGroup) return caption ? undefined : heading;
  const isOwn = isVideo && author === undefined && !(name && heading.includes(name)) && !caption?.startsWith(heading);
  return isOwn && readCounterLine(heading, facts) === undefined ? heading : undefined;
}

/** The fullest of the texts: the tags cut it at various lengths. */
function captionOf(
  tags: PageTags,
  { facts, fromHeading, author, message }: TagsContext & { fromHeading?: string; author?: string },
): string | undefined {
  const { description, title } = tags;
  const rest =
    author && title?.startsWith(`${author} - `) ? title.slice(author.length + 3).replace(/\s\|\sFacebook$/, '') : '';
  const behind = isSiteTitle(rest, facts) ? '' : rest;
  const whole = description && !isCut(description) ? description : undefined;
  if (whole) return fromHeading && fromHeading.length > whole.length ? fromHeading : whole;
  const candidates = [fromHeading, behind, description && message].filter(
    (text) => text && isSameText(text, description),
  );
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
