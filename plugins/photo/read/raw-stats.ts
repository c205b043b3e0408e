import type { JsonRecord, PostData } from 'mediagate';

/** What a post's node says of itself in numbers and words, and the documents have no member for. */
const NAMES = [
  'like_count',
  'fb_like_count',
  'comment_count',
  'view_count',
  'play_count',
  'ig_play_count',
  'fb_play_count',
  'reshare_count',
  'save_count',
  'video_view_count',
  'video_play_count',
  'media_type',
  'product_type',
  '__typename',
  'carousel_media_count',
  'like_and_view_counts_disabled',
  'comments_disabled',
  'is_paid_partnership',
] as const;

/** As they stand in the node, by the platform's own names. */
export function rawStats(node: JsonRecord): PostData['raw_stats'] {
  const stats: PostData['raw_stats'] = {};
  for (const name of NAMES) {
    const value = node[name];
    if (typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value !== '')) {
      stats[name] = value;
    }
  }
  return stats;
}
