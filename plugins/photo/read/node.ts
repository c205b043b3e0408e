import { type Author, asString, at, type JsonRecord, toIsoTime } from 'mediagate';
import { canonicalUrl } from '../links.js';
import type { PostIdentity } from '../shortcode.js';
import { parseCollaborators } from './author.js';
import { hashtagsIn } from './caption-tags.js';
import { type RawCounters, readCounters } from './counters.js';
import { assembleMedia, type MediaItem } from './media-items.js';
import { parseMusic } from './music.js';
import { rawStats } from './raw-stats.js';
import type { PostReading, Source } from './reading.js';

/** What the two forms of a post's node name differently. */
export interface NodeParts {
  source: Source;
  author?: Author;
  caption?: string;
  takenAt: unknown;
  items: readonly MediaItem[];
  isCarousel: boolean;
  /** Items that the node counts, where it does. */
  itemCount?: number;
  counters: RawCounters;
}

/** A post's node as a reading; what both forms name alike is read here. */
export function readNode(node: JsonRecord, { shortcode, mediaId }: PostIdentity, parts: NodeParts): PostReading {
  const { source, author, caption, takenAt, items, isCarousel, itemCount, counters } = parts;
  const { music, sound } = parseMusic(node);
  const { media, audio, durationSeconds } = assembleMedia(items, sound);
  const hasVideo = items.some(({ isVideo }) => isVideo);
  return {
    source,
    hasVideo,
    itemCount,
    post: {
      common: {
        title: asString(node.title),
        caption,
        description: caption,
        tags: hashtagsIn(caption),
        author,
        thumbnail: media.image_urls?.[0],
        published_at: toIsoTime(takenAt),
        duration_seconds: durationSeconds,
        music,
        collaborators: parseCollaborators(node.coauthor_producers, author?.id),
        location: asString(at(node, 'location', 'name')),
      },
      ids: {
        post_id: mediaId,
        video_id: hasVideo && !isCarousel ? mediaId : undefined,
        shortcode,
        author_id: author?.id,
        canonical_url: canonicalUrl(shortcode),
      },
      ...readCounters(counters, {
        isVideo: hasVideo && !isCarousel,
        disabled: node.like_and_view_counts_disabled === true,
      }),
      media,
      audio,
      raw_stats: rawStats(node),
    },
  };
}
