/*
 * Decides when the parts of an item suffice, and merges them. Videos of all sources are listed in one order: files that
 * need no cookie, then without a watermark, then with common codecs, then larger ones. Pictures and audio come from one
 * source only, because each source lists the same ones under other URLs. If no source states the publication time, it
 * is computed from the item's id. Missing files and files bound to cookies become limitations. The source of audio is
 * chosen here too.
 */

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
  return entries.some((entry) => isVideo(entry) || isPicture(entry));
}

/** Whether a direct fetch of every video needs something of our visit. */
export function hasBoundVideos(entries: readonly MediaEntry[]): boolean {
  const videos = entries.filter(isVideo);
  return videos.length > 0 && videos.every(({ bound_to }) => bound_to);
}

function isVideo({ kind }: MediaEntry): boolean {
  return kind === 'video';
}

/** Whether an entry is a picture of a slideshow. */
function isPicture(entry: MediaEntry): boolean {
  return entry.kind === 'image' && !isCover(entry);
}

/** What the methods of one call share. */
export interface ClipState {
  /** That of the page's visit, with which its files can be fetched. */
  cookie?: string | undefined;
}

/** Makes one document of the parts. */
export function assemble(run: ItemRun<PartialPost, ClipState>): Omit<Extraction, 'method'> {
  const data = mergeParts(run.parts, run.call.link.id);
  const { entries = [], video_urls } = data.media;
  const listed = new Set(video_urls);
  return {
    data,
    limitations: limitationNotes(
      run,
      data,
      fallbackSource(run.parts, 'page'),
      !hasFiles(entries) && 'metadata_only',
      hasBoundVideos(entries.filter(({ url }) => listed.has(url))) && 'media_cookie_bound',
    ),
    ...(run.call.state.cookie && { mediaHeaders: { cookie: run.call.state.cookie } }),
    audio: run.parts.some(({ found }) => found.audio),
    carousel: entries.some(isPicture),
    // A complete part lacks no more than the last digits of its counters.
    partial: run.partial && !run.parts.some(({ found }) => isComplete(found)),
  };
}

const EPOCH_SHIFT = 32n;

/** Merges the parts, with the videos of all of them in one order. If no part states the time, it is that in the id. */
export function mergeParts(parts: readonly PostPart[], id: string): PostData {
  // The upper half of an id is a Unix time in seconds.
  const published_at = toIsoTime(Number(BigInt(id) >> EPOCH_SHIFT));
  const dated: PartialPost = { common: { published_at }, publishedAtSource: 'id' };
  const { media, ...fields } = mergePosts([
    ...alignMedia(parts),
    ...parts.slice(0, 1).map(({ method }) => ({ method, found: dated })),
  ]);
  const { entries = [] } = media;
  const videos = entries.filter(isVideo).sort(betterFirst);
  const urls = new Set(media.video_urls);
  const ordered = videos.map(({ url }) => url).filter((url) => urls.has(url));
  return {
    ...fields,
    media: {
      ...media,
      video_urls: [...new Set([...ordered, ...urls])],
      ...(entries.length > 0 && { entries: [...videos, ...entries.filter((entry) => !isVideo(entry))] }),
    },
  };
}

/**
 * Every method lists the same pictures and the same audio under other URLs, so only those of one part are kept; for
 * pictures it is a part with more than a cover. The videos of every method are kept.
 */
function alignMedia(parts: readonly PostPart[]): PostPart[] {
  const owners: Partial<Record<MediaEntry['kind'], PostPart>> = {
    image:
      parts.find(({ found }) => found.media?.entries?.some(isPicture)) ??
      parts.find(({ found }) => found.media?.image_urls?.length),
    audio: parts.find(({ found }) => found.media?.entries?.some(({ kind }) => kind === 'audio')),
  };
  return parts.map((part) => {
    const { method, found } = part;
    const image_urls = owners.image === part ? found.media?.image_urls : undefined;
    const entries = found.media?.entries?.filter(({ kind }) => (owners[kind] ?? part) === part);
    return { method, found: { ...found, media: { ...found.media, image_urls, entries } } };
  });
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
