import {
  asArray,
  asCount,
  asRecord,
  asRecords,
  asString,
  at,
  type JsonRecord,
  type PartialPost,
  type Precision,
  parseCount,
} from 'mediagate/plugin';
import { firstValue } from './relay.js';
import type { SiteConfig } from './state.js';

type Counts = Required<Pick<PartialPost, 'metrics' | 'precision' | 'raw_stats'>>;
type Path = readonly (string | number)[];

/** The paths of a counter, exact numbers first; "reduced" and translated ones are texts, rounded above a thousand. */
const PATHS: Readonly<Record<'views' | 'plays' | 'likes' | 'comments' | 'shares', readonly Path[]>> = {
  views: [
    ['video_view_count'],
    ['video_post_view_count'],
    ['video_view_count_renderer', 'feedback', 'video_view_count'],
    ['video_view_count_renderer', 'feedback', 'video_post_view_count'],
    ['video_view_count_renderer', 'feedback', 'video_view_count_reduced'],
    ['video_view_count_reduced'],
    ['viewCount'],
    ['view_count'],
  ],
  plays: [
    ['play_count'],
    ['video_view_count_renderer', 'feedback', 'play_count'],
    ['play_count_reduced'],
    ['video_view_count_renderer', 'feedback', 'play_count_reduced'],
  ],
  likes: [
    ['reaction_count', 'count'],
    ['reaction_count'],
    ['unified_reactors', 'count'],
    ['reactors', 'count'],
    ['if_viewer_cannot_see_seen_by_member_list', 'reaction_count', 'count'],
    ['likers', 'count'],
    ['i18n_reaction_count'],
    ['reactors', 'count_reduced'],
    ['reaction_count_reduced'],
  ],
  comments: [
    ['comment_rendering_instance', 'comments', 'total_count'],
    ['comments_count_summary_renderer', 'feedback', 'comment_rendering_instance', 'comments', 'total_count'],
    ['comments_count_summary_renderer', 'feedback', 'total_comment_count'],
    ['total_comment_count'],
    ['comment_count', 'total_count'],
    ['comment_count'],
    ['comments', 'total_count'],
    ['i18n_comment_count'],
    ['comment_count_reduced'],
  ],
  shares: [
    ['share_count', 'count'],
    ['share_count'],
    ['reshares', 'count'],
    ['i18n_share_count'],
    ['share_count_reduced'],
  ],
};

/** Members that repeat the counters for a button each. */
const BUTTONS = [
  'comet_ufi_summary_and_actions_renderer',
  'adaptive_ufi_action_renderers',
  'comments_count_summary_renderer',
  'video_view_count_renderer',
];

/** The counters of one post or video, to which all records must belong. */
export function parseFeedback(records: readonly JsonRecord[], siteConfig: SiteConfig): Counts {
  const feedbacks = [...records, ...records.flatMap((record) => buttonsOf(record, 0))];
  const metrics: Record<string, number> = {};
  const precision: Record<string, Precision> = {};
  const raw_stats: Record<string, string | number | boolean> = {};
  const counts = Object.entries(PATHS).map(([metric, paths]) => [metric, firstCount(feedbacks, paths)] as const);
  const isUsed = counts.some(([metric, found]) => !VIEWS.has(metric) && found && found.value > 0);
  for (const [metric, found] of counts) {
    // Some layouts have 0 in place of a hidden counter.
    const isHidden = VIEWS.has(metric)
      ? isUsed && found?.value === 0
      : metric === 'likes' && !found?.value && feedbacks.some(hidesReactions);
    if (isHidden) precision[metric] = 'hidden';
    if (!found || isHidden) continue;
    metrics[metric] = found.value;
    precision[metric] = found.exact ? 'exact' : 'rounded';
    raw_stats[found.path.join('.')] = found.raw;
  }
  if (metrics.views === undefined && metrics.plays !== undefined) {
    metrics.views = metrics.plays;
    precision.views = precision.plays ?? 'exact';
  }
  const reactions = reactionsIn(feedbacks, siteConfig);
  return { metrics: { ...metrics, ...(reactions && { reactions }) }, precision, raw_stats };
}

const VIEWS: ReadonlySet<string> = new Set(['views', 'plays']);

function hidesReactions(feedback: JsonRecord): boolean {
  const config = asRecord(feedback.reaction_display_config);
  return config?.reaction_display_strategy === 'HIDE_COUNTS' || config?.is_reaction_count_hidden_by_producer === true;
}

/** The repetitions, some of which have no id. */
function buttonsOf(feedback: JsonRecord, depth: number): JsonRecord[] {
  if (depth > 3) return [];
  const inner = BUTTONS.flatMap((name) => asArray(feedback[name]) ?? [feedback[name]]).map((one) =>
    at(one, 'feedback'),
  );
  return asRecords(inner)
    .filter(({ id }) => id === undefined || id === feedback.id)
    .flatMap((one) => [one, ...buttonsOf(one, depth + 1)]);
}

interface FoundCount {
  value: number;
  exact: boolean;
  path: Path;
  raw: string | number;
}

function firstCount(records: readonly JsonRecord[], paths: readonly Path[]): FoundCount | undefined {
  let rounded: FoundCount | undefined;
  let zero: FoundCount | undefined;
  for (const path of paths) {
    for (const record of records) {
      const found = readCount(at(record, ...path), path);
      if (found?.value === 0) zero ??= found;
      else if (found?.exact) return found;
      else rounded ??= found;
    }
  }
  return rounded ?? zero;
}

function readCount(raw: unknown, path: Path): FoundCount | undefined {
  if (typeof raw === 'number') {
    return Number.isSafeInteger(raw) && raw >= 0 ? { value: raw, exact: true, path, raw } : undefined;
  }
  const text = asString(raw);
  const count = text && parseCount(text);
  return text && count ? { ...count, path, raw: text } : undefined;
}

/** Reactions by kind. The standard kinds have ids; others have a name only. */
function reactionsIn(feedbacks: readonly JsonRecord[], siteConfig: SiteConfig): Record<string, number> | undefined {
  const names = new Map(Object.entries(siteConfig.reactions));
  return firstValue(feedbacks, (feedback) => {
    const counts = asRecords(at(feedback, 'top_reactions', 'edges')).flatMap(({ node, reaction_count }) => {
      const name = names.get(asString(at(node, 'id')) ?? '') ?? asString(at(node, 'localized_name'));
      const count = asCount(reaction_count);
      return name && count !== undefined ? [[name.toLowerCase(), count] as const] : [];
    });
    return counts.length > 0 ? Object.fromEntries(counts) : undefined;
  });
}

/** The counters in the texts of a page. */
export interface CounterTexts {
  metrics: NonNullable<PartialPost['metrics']>;
  precision: Record<string, Precision>;
  raw_stats: Record<string, string>;
}

/** Adds the counter in a text, unless there is one already. `source` is the prefix of its name in `raw_stats`. */
export function addCounter(
  { metrics, precision, raw_stats }: CounterTexts,
  metric: 'views' | 'likes' | 'comments' | 'shares',
  text: string,
  source: 'og' | 'plugin',
): void {
  const count = parseCount(text);
  if (!count || metrics[metric] !== undefined) return;
  metrics[metric] = count.value;
  precision[metric] = count.exact ? 'exact' : 'rounded';
  raw_stats[`${source}_${metric}`] = text;
}
