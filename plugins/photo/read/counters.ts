import type { PartialPost, Precision } from 'mediagate';
import { count, positive } from './values.js';

/** The counters of a post as they stand in a reply; undefined or null where it has none. */
export interface RawCounters {
  views?: unknown;
  plays?: unknown;
  likes?: unknown;
  comments?: unknown;
  shares?: unknown;
  saves?: unknown;
  subscriber_count?: unknown;
}

export interface CounterContext {
  /** Whether the post is one video, which views and plays are counted of. */
  isVideo: boolean;
  /** `like_and_view_counts_disabled`: the likes in the reply are then a remainder, and views may still be there. */
  disabled?: boolean;
}

/**
 * The counters that a reply shows, and the names of those it hides. In the place of a hidden counter stands -1, and of
 * views or plays also 0: a video that is shown has been played. Plays are what the site shows as views.
 */
export function readCounters(raw: RawCounters, context: CounterContext): Pick<PartialPost, 'metrics' | 'precision'> {
  const { isVideo, disabled = false } = context;
  const plays = positive(raw.plays);
  const views = plays ?? positive(raw.views);
  const likes = disabled ? undefined : count(raw.likes);
  const isHidden = (name: keyof RawCounters) => Number(raw[name] ?? undefined) === -1;
  const isUnplayed = (name: 'views' | 'plays') => isHidden(name) || count(raw[name]) === 0;
  const hidden = {
    views: isVideo && views === undefined && (disabled || isUnplayed('views') || isUnplayed('plays')),
    plays: isVideo && isUnplayed('plays'),
    likes: disabled || isHidden('likes'),
    comments: isHidden('comments'),
    shares: isHidden('shares'),
    saves: isHidden('saves'),
  };
  return {
    metrics: {
      views,
      plays,
      likes,
      comments: count(raw.comments),
      shares: count(raw.shares),
      saves: count(raw.saves),
      subscriber_count: count(raw.subscriber_count),
    },
    precision: Object.fromEntries(
      Object.entries(hidden).flatMap(([name, is]) => (is ? [[name, 'hidden' satisfies Precision] as const] : [])),
    ),
  };
}
