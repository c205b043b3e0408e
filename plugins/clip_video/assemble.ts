import {
  type AudioSource,
  audioSource,
  type Extraction,
  fallbackSource,
  type ItemRun,
  limitationNotes,
  type MediaEntry,
  mergePosts,
  type PartialPost,
  type PostData,
  type PostPart,
  toIsoTime,
} from 'mediagate/plugin';
import type { SiteConfig } from './fetch.js';
import { betterFirst, chooseAudio, isCover } from './read/files.js';

/** Whether a part is worth an answer: it has an author, and a title, a caption, likes or a file. */
export function isReadable({ common, metrics, media }: PartialPost): boolean {
  const named = common?.author?.username ?? common?.author?.name;
  const read = common?.title ?? common?.caption ?? metrics?.likes ?? media?.entries?.[0];
  return named !== undefined && read !== undefined;
}

/** Whether a part has everything that a further request could add. */
export function isComplete(post: PartialPost): boolean {
  return (
    isReadable(post) &&
    post.common?.published_at !== undefined &&
    post.metrics?.views !== undefined &&
    hasFiles(post.media?.entries)
  );
}

/** Whether the item's own files are listed: its video, or the pictures of a slideshow. */
export function hasFiles(entries: readonly MediaEntry[] = []): boolean {
  return entries.some((entry) => entry.kind === 'video' || (entry.kind === 'image' && !isCover(entry)));
}

/** Whether a direct fetch of every video needs something of our visit. */
export function hasBoundVideos(entries: readonly MediaEntry[]): boolean {
  const videos = entries.filter(isVideo);
  return videos.length > 0 && videos.every(({ bound_to }) => bound_to);
}

const EPOCH_SHIFT = 32n;

/** Makes one document of the parts. */
export function assemble(run: ItemRun<PartialPost, unknown>): Omit<Extraction, 'method'> {
  const { link } = run.call;
  const parts = alignMedia(run.parts);
  const data = orderVideos(mergePosts(dateById(parts, link.id)));
  const entries = data.media.entries ?? [];
  const listed = new Set(data.media.video_urls);
  return {
    data,
    limitations: limitationNotes(
      run,
      data,
      fallbackSource(parts, 'page'),
      !hasFiles(entries) && 'metadata_only',
      hasBoundVideos(entries.filter(({ url }) => listed.has(url))) && 'media_cookie_bound',
    ),
    audio: parts.some(({ found }) => found.audio),
    // A complete part lacks no more than the last digits of its counters.
    partial: run.partial && !parts.some(({ found }) => isComplete(found)),
  };
}

/**
 * The audio in what one method found.
 * @param cookie That of the page's visit; without it, files that are bound to it cannot be fetched.
 * @throws GatewayError `audio_unavailable`.
 */
export function audioOf(post: PartialPost, cookie: string | undefined, { userAgent, origin }: SiteConfig): AudioSource {
  const isUsable = (entry: MediaEntry) => cookie !== undefined || !entry.bound_to?.includes('cookie');
  const file = post.audio ? chooseAudio(post.media?.entries ?? [], isUsable) : undefined;
  return audioSource(file, {
    headers: {
      'user-agent': userAgent,
      referer: `${origin}/`,
      ...(cookie && file?.bound_to?.includes('cookie') && { cookie }),
    },
    durationSeconds: file?.kind === 'video' ? post.common?.duration_seconds : undefined,
  });
}

/**
 * Every method lists the same pictures and the same audio under other URLs, so only those of one part are kept; for
 * pictures it is a part with more than a cover. The videos of every method are kept.
 */
export function alignMedia(parts: readonly PostPart[]): PostPart[] {
  const pictured = parts.find((part) => imagesOf(part).some((entry) => !isCover(entry)));
  const owners: Partial<Record<MediaEntry['kind'], PostPart>> = {
    image: pictured ?? parts.find(({ found }) => found.media?.image_urls?.length),
    audio: parts.find(({ found }) => found.media?.entries?.some(({ kind }) => kind === 'audio')),
  };
  return parts.map((part) => {
    const { method, found } = part;
    const keeps = ({ kind }: MediaEntry) => owners[kind] === undefined || owners[kind] === part;
    const image_urls = owners.image === part ? found.media?.image_urls : undefined;
    const media = { ...found.media, image_urls, entries: found.media?.entries?.filter(keeps) };
    return { method, found: { ...found, media } };
  });
}

function imagesOf({ found }: PostPart): MediaEntry[] {
  return found.media?.entries?.filter(({ kind }) => kind === 'image') ?? [];
}

/** Puts the videos of several parts in one order. */
export function orderVideos(data: PostData): PostData {
  const entries = data.media.entries ?? [];
  const files = new Map(entries.map((entry) => [entry.url, entry]));
  const known = data.media.video_urls.flatMap((url) => files.get(url) ?? []).sort(betterFirst);
  const video_urls =
    known.length === data.media.video_urls.length ? known.map(({ url }) => url) : data.media.video_urls;
  const ordered = [...entries.filter(isVideo).sort(betterFirst), ...entries.filter((entry) => !isVideo(entry))];
  return { ...data, media: { ...data.media, video_urls, ...(ordered.length > 0 && { entries: ordered }) } };
}

function isVideo({ kind }: MediaEntry): boolean {
  return kind === 'video';
}

/**
 * Adds the time in the item's id if no part states one: the upper half of an id is a Unix time in seconds.
 */
export function dateById(parts: readonly PostPart[], id: string): PostPart[] {
  const [first] = parts;
  const seconds = Number(BigInt(id) >> EPOCH_SHIFT);
  if (!first || parts.some(({ found }) => found.common?.published_at)) return [...parts];
  return [
    ...parts,
    { method: first.method, found: { common: { published_at: toIsoTime(seconds) }, publishedAtSource: 'id' } },
  ];
}
