import { asCount, at, type PartialPost, type Precision } from 'mediagate';
import { member, rawStats } from './values.js';

/** Our counter → the names that the site's replies have for it. */
const COUNTERS = {
  plays: ['playCount', 'play_count'],
  likes: ['diggCount', 'digg_count'],
  comments: ['commentCount', 'comment_count'],
  shares: ['shareCount', 'share_count'],
  saves: ['collectCount', 'collect_count'],
} as const;

type Counter = keyof typeof COUNTERS;
type Counters = Pick<PartialPost, 'metrics' | 'precision' | 'raw_stats'>;

/** From here on the site may write what it shows ("76K", "1.7M") out as a number. */
const ROUNDED_FROM = 10_000;

/**
 * Counters of an item. `stats` is what the pages show; `exact` the second block that pages of 2024 and later add, as
 * strings. To some visitors that block is rounded as well: then it says just what the first one says.
 */
export function parseCounters(stats: unknown, exact?: unknown): Counters {
  const isExact = differs(stats, exact);
  const metrics: NonNullable<PartialPost['metrics']> = {};
  const precision: Record<string, Precision> = {};
  const raw: Record<string, unknown> = {};
  const note = (name: string, value: number) => {
    precision[name] = isExact || !isRounded(value) ? 'exact' : 'rounded';
  };
  for (const [name, spellings] of Object.entries(COUNTERS) as [Counter, readonly string[]][]) {
    const written = member(exact, ...spellings) ?? member(stats, ...spellings);
    const value = asCount(written);
    if (value === undefined) continue;
    metrics[name] = value;
    note(name, value);
    raw[spellings[0] ?? name] = written;
  }
  if (metrics.plays !== undefined) {
    metrics.views = metrics.plays;
    note('views', metrics.plays);
  }
  const reposts = member(exact, 'repostCount') ?? member(stats, 'repostCount');
  return { metrics, precision, raw_stats: rawStats({ ...raw, repostCount: reposts }) };
}

/** How many follow the author. */
export function parseFollowers(stats: unknown, exact?: unknown): Counters {
  const written = member(exact, 'followerCount', 'follower_count') ?? member(stats, 'followerCount', 'follower_count');
  const followers = asCount(written);
  if (followers === undefined) return {};
  const fineness = isRounded(followers) && !differs(stats, exact) ? 'rounded' : 'exact';
  return {
    metrics: { subscriber_count: followers },
    precision: { subscriber_count: fineness },
    raw_stats: rawStats({ followerCount: written }),
  };
}

/** Counters of the embedded player, which all are exact or all are rounded: one that is not round shows which. */
export function ofPlayer({ precision, metrics, ...counters }: Counters): Counters {
  const isExact = Object.values(metrics ?? {}).some(
    (value) => typeof value === 'number' && value >= ROUNDED_FROM && !isRounded(value),
  );
  if (!isExact) return { metrics, precision, ...counters };
  const names = Object.keys(precision ?? {});
  return { metrics, ...counters, precision: Object.fromEntries(names.map((name) => [name, 'exact'])) };
}

function differs(stats: unknown, exact: unknown): boolean {
  return [...Object.values(COUNTERS).map(([name]) => name), 'followerCount', 'heartCount'].some((name) => {
    const [one, other] = [asCount(at(stats, name)), asCount(at(exact, name))];
    return one !== undefined && other !== undefined && one !== other;
  });
}

/** One decimal of thousands, or of millions, is all that is left of a number that was shown. */
function isRounded(value: number): boolean {
  return value >= ROUNDED_FROM && value % (value >= 1_000_000 ? 100_000 : 100) === 0;
}
