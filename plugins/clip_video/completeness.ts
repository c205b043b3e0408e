import type { MediaEntry, PartialPost } from 'mediagate';
import { isCover } from './read/media-files.js';

/** Whether a part has what an answer needs: whose the item is, and anything of what it is. */
export function isReadable({ common, metrics, media }: PartialPost): boolean {
  const named = common?.author?.username ?? common?.author?.name;
  const told = common?.title ?? common?.caption ?? metrics?.likes ?? media?.entries?.[0];
  return named !== undefined && told !== undefined;
}

/** Whether a part leaves nothing to be asked for. */
export function isComplete(post: PartialPost): boolean {
  return (
    isReadable(post) &&
    post.common?.published_at !== undefined &&
    post.metrics?.views !== undefined &&
    hasFiles(post.media?.entries)
  );
}

/** Whether there is the item itself: its video, or its pictures. */
export function hasFiles(entries: readonly MediaEntry[] = []): boolean {
  return entries.some((entry) => entry.kind === 'video' || (entry.kind === 'image' && !isCover(entry)));
}
