/*
 * Merges what the sources read into one document, best source first. Each source lists the same images under other
 * URLs, so images come from the source with the most, and so do videos.
 */

import {
  fallbackSource,
  type ItemRun,
  limitationNotes,
  type MediaEntry,
  mergePosts,
  type Part,
  type PartialPost,
  type PostData,
} from 'mediagate/plugin';
import { type PostIdentity, timeOfMediaId } from './links.js';
import { type PostReading, SOURCES } from './read/post.js';

type ReadingPart = Part<PostReading>;

/** The document of a post, and what a client should know about it. */
export function assemble(
  run: Pick<ItemRun<PostReading>, 'parts' | 'restriction' | 'limitations'>,
  identity: PostIdentity,
) {
  const rank = ({ found }: ReadingPart) => SOURCES.indexOf(found.source);
  // Best source first.
  const parts = [...run.parts].sort((one, other) => rank(one) - rank(other));
  const data = mergeReadings(parts, identity);
  const readings = parts.map(({ found }) => found);
  const hasVideo = readings.some((reading) => reading.hasVideo);
  const files = hasVideo ? data.media.video_urls : data.media.image_urls;
  const itemCount = Math.max(0, ...readings.map((reading) => reading.itemCount ?? 0));
  const dated = readings.find(({ post }) => post.common?.published_at);
  const limitations = limitationNotes(
    run,
    data,
    files.length === 0 && 'metadata_only',
    fallbackSource(
      readings.map(({ source }) => ({ method: source })),
      'data',
      'embed_data',
    ),
    // The tags for link previews give the day without the time.
    dated?.source === 'page_tags' &&
      data.common.published_at?.endsWith('T00:00:00Z') === true &&
      'published_at_day_only',
    itemCount > data.media.image_urls.length && 'carousel_truncated',
  );
  const carousel = data.media.image_urls.length > 1;
  return { data, limitations, audio: chooseAudio(data.media.entries) !== undefined, carousel };
}

/**
 * Merges readings into one document. The same image has another URL in each reply, so images and videos are each taken
 * from the reading that has most of them. The time in the id is the last resort.
 * @param parts - best first.
 */
function mergeReadings(parts: readonly ReadingPart[], { mediaId }: PostIdentity): PostData {
  const imageSource = richest(parts, 'image_urls');
  const videoSource = richest(parts, 'video_urls');
  const posts: Part<PartialPost>[] = parts.map((part) => ({
    method: part.method,
    found: withMedia(part.found.post, part === imageSource, part === videoSource),
  }));
  const [first] = parts;
  const published_at = parts.some(({ found }) => found.post.common?.published_at) ? undefined : timeOfMediaId(mediaId);
  if (first && published_at) {
    posts.push({ method: first.method, found: { common: { published_at }, publishedAtSource: 'id' } });
  }
  return mergePosts(posts);
}

function richest(parts: readonly ReadingPart[], name: 'image_urls' | 'video_urls'): ReadingPart | undefined {
  const count = ({ found }: ReadingPart) => found.post.media?.[name]?.length ?? 0;
  const most = Math.max(0, ...parts.map(count));
  return most === 0 ? undefined : parts.find((part) => count(part) === most);
}

function withMedia(post: PartialPost, images: boolean, videos: boolean): PartialPost {
  const { media, common } = post;
  const { thumbnail, ...others } = common ?? {};
  return {
    ...post,
    common: images ? { ...others, thumbnail } : others,
    media: {
      ...(images && { image_urls: media?.image_urls }),
      ...(videos && { video_urls: media?.video_urls }),
      entries: media?.entries?.filter(({ kind }) => (kind === 'image' ? images : videos || kind === 'audio')),
    },
  };
}

/** The first audio file, which is the smallest, or else the smallest video that has audio. */
export function chooseAudio(entries: readonly MediaEntry[] = []): MediaEntry | undefined {
  const videos = entries.filter(({ kind, has_audio }) => kind === 'video' && has_audio !== false);
  const area = ({ width = 0, height = 0 }: MediaEntry) => width * height || Number.MAX_SAFE_INTEGER;
  return entries.find(({ kind }) => kind === 'audio') ?? videos.sort((one, other) => area(one) - area(other))[0];
}
