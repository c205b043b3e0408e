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

const VIEWS: ReadonlySet<string> = new Set(['views', 'plays']);

/**
 * The counters of one post or video, to which all records must belong. Their paths are data of the site, exact numbers
 * first; "reduced" and translated ones are texts, rounded above a thousand.
 */
export function parseFeedback(records: readonly JsonRecord[], siteConfig: SiteConfig) {
  const feedbacks = [...records, ...records.flatMap((record) => repetitionsOf(record, siteConfig.counterButtons))];
  const metrics: Record<string, number> = {};
  const precision: Record<string, Precision> = {};
  const raw_stats: Record<string, string | number> = {};
  const counts = Object.entries(siteConfig.counterPaths).map(
    ([metric, paths]) => [metric, bestCount(feedbacks, paths)] as const,
  );
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
    raw_stats[found.path] = found.raw;
  }
  if (metrics.views === undefined && metrics.plays !== undefined) {
    metrics.views = metrics.plays;
    precision.views = precision.plays ?? 'exact';
  }
  const reactions = reactionsIn(feedbacks, siteConfig);
  return { metrics: { ...metrics, ...(reactions && { reactions }) }, precision, raw_stats };
}

function hidesReactions(feedback: JsonRecord): boolean {
  const config = asRecord(feedback.reaction_display_config);
  return config?.reaction_display_strategy === 'HIDE_COUNTS' || config?.is_reaction_count_hidden_by_producer === true;
}

/** The records that repeat the counters for a button each; some have no id. */
function repetitionsOf(feedback: JsonRecord, buttons: readonly string[], depth = 0): JsonRecord[] {
  if (depth > 3) return [];
  const shown = buttons.flatMap((name) => asArray(feedback[name]) ?? [feedback[name]]);
  return asRecords(shown.map((one) => at(one, 'feedback')))
    .filter(({ id }) => id === undefined || id === feedback.id)
    .flatMap((one) => [one, ...repetitionsOf(one, buttons, depth + 1)]);
}

/** The first exact number, or else the first rounded one. Zero counts only if there is no other. */
function bestCount(records: readonly JsonRecord[], paths: readonly string[]) {
  const found = paths.flatMap((path) => {
    const steps = path.split('.');
    return records.flatMap((record) => {
      const raw = at(record, ...steps);
      const count = readCount(raw);
      return count ? [{ ...count, path, raw: raw as string | number }] : [];
    });
  });
  const counted = found.filter(({ value }) => value > 0);
  return counted.find(({ exact }) => exact) ?? counted[0] ?? found[0];
}

function readCount(raw: unknown) {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) && raw >= 0 ? { value: raw, exact: true } : undefined;
  return typeof raw === 'string' ? parseCount(raw) : undefined;
}

/** Reactions by kind. The standard kinds have ids; others have a name only. */
function reactionsIn(feedbacks: readonly JsonRecord[], { reactions }: SiteConfig): Record<string, number> | undefined {
  return firstValue(feedbacks, (feedback) => {
    const counts = asRecords(at(feedback, 'top_reactions', 'edges')).flatMap(({ node, reaction_count }) => {
      const name = asString(at(reactions, asString(at(node, 'id')) ?? '')) ?? asString(at(node, 'localized_name'));
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
