/*
 * Decides when the parts of an item suffice, and merges them with what the link itself says. Missing counters, cut
 * captions and missing files become limitations.
 */

import {
  type Extraction,
  type ItemCall,
  type ItemRun,
  type LinkRef,
  limitationNotes,
  type MediaEntry,
  mergePosts,
  type PartialPost,
  type PostPart,
} from 'mediagate/plugin';
import { isAlias } from './links.js';
import { isCut } from './read/tags.js';

type Posts = readonly PartialPost[];

/** The document of all parts, with what the link alone says. */
export function assemble({ parts, call, ...run }: ItemRun<PartialPost>): Omit<Extraction, 'method'> {
  const { link } = call;
  const own = parts.slice(0, 1).map(({ method }) => ({ method, found: { ids: idsOf(link, parts) } }));
  const data = mergePosts([...parts, ...own]);
  const { common, media, metrics } = data;
  const { live_status: live } = common;
  const isCounted = (['likes', 'comments', 'shares', 'views'] as const).some((metric) => metrics[metric] !== undefined);
  const limitations = limitationNotes(
    run,
    data,
    live === 'live' && 'live_now',
    live === 'upcoming' && 'live_upcoming',
    link.kind !== 'post' && media.video_urls.length === 0 && 'metadata_only',
    common.caption !== undefined && isCut(common.caption) && 'caption_truncated',
    !isCounted && 'stats_not_shown',
  );
  const audio = live !== 'live' && parts.some(({ found }) => found.audio);
  return { data, limitations, audio, carousel: link.kind === 'post' && media.image_urls.length > 1 };
}

/** An alias is the id of a post only if its number is unknown. */
function idsOf({ kind, id, url }: LinkRef, parts: readonly PostPart[]): PartialPost['ids'] {
  if (kind !== 'post') return { video_id: id, canonical_url: url };
  const isKnown = isAlias(id) && parts.some(({ found }) => found.ids?.post_id);
  return { ...(!isKnown && { post_id: id }), canonical_url: url };
}

/** Whether text, author, date, counters and, for a video, files are extracted. */
export function isEnough(posts: Posts, { link }: ItemCall<PartialPost>): boolean {
  return (
    isReadable(posts) &&
    posts.some(({ common }) => common?.published_at) &&
    posts.some(({ metrics }) => metrics?.likes !== undefined || metrics?.views !== undefined) &&
    (link.kind === 'post' || posts.some(({ media }) => media?.video_urls?.length))
  );
}

/** Whether the parts have the minimum of a document: something of the post, and its author or what it shows. */
export function isReadable(posts: Posts): boolean {
  const has = (test: (post: PartialPost) => unknown) => posts.some((post) => Boolean(test(post)));
  const hasAuthor = has(({ common }) => common?.author?.name);
  const hasMedia = has(({ media }) => media?.image_urls?.length || media?.video_urls?.length);
  // The tags of a post in a group have its text only.
  if (has(({ common }) => common?.caption)) return true;
  return has(({ common }) => common?.title) ? hasAuthor || hasMedia : hasAuthor && hasMedia;
}

/** The smallest file with audio alone, or else the smallest video with audio. */
export function chooseAudio(entries: readonly MediaEntry[]): MediaEntry | undefined {
  const withAudio = entries.filter(({ kind, has_audio }) => has_audio && (kind === 'audio' || kind === 'video'));
  const rank = ({ kind, bitrate, quality }: MediaEntry) =>
    (kind === 'audio' ? 0 : 1e12) + (bitrate ?? (quality === 'SD' ? 1e9 : 2e9));
  return withAudio.sort((one, other) => rank(one) - rank(other))[0];
}
