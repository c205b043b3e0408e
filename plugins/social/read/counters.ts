/*
 * Reads counters from records and from texts in any interface language. The paths in records are data of
 * site-config.json, exact numbers before rounded texts. A zero counts only without another number, because some layouts
 * put zero in the place of a hidden counter; zero views beside other counts are marked as hidden. Words of the
 * configuration say what a text counts. A line of counters in unknown words gives no metrics, since their order differs
 * by layout, but it is not taken for a title.
 */

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

const METRICS = ['views', 'likes', 'comments', 'shares'] as const;

/** The counters in the texts of a page. */
export interface CounterTexts {
  metrics: NonNullable<PartialPost['metrics']>;
  precision: Record<string, Precision>;
  raw_stats: Record<string, string>;
}

/** Adds the counter in a text, unless there is one already. `source` is the prefix of its name in `raw_stats`. */
export function addCounter(
  { metrics, precision, raw_stats }: CounterTexts,
  metric: (typeof METRICS)[number],
  text: string,
  source: 'og' | 'plugin',
): void {
  const count = parseCount(text);
  if (!count || metrics[metric] !== undefined) return;
  metrics[metric] = count.value;
  precision[metric] = count.exact ? 'exact' : 'rounded';
  raw_stats[`${source}_${metric}`] = text;
}

const LONGEST_PART = 60;
const NUMBER_FIRST = /^[^\p{Nd}\p{Script=Latin}\p{Script=Cyrillic}]{0,25}\p{Nd}/u;
/** Words between a number and what is counted. */
const PARTICLES: ReadonlySet<string> = new Set(['de', 'na', 'di', 'ng']);
/** What is counted, in two words. */
const TWO_WORDS = /^(?:me gusta|mi piace|mal geteilt|keer gedeeld|veces compartid[oa]s?)$/i;
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * `1.2M views · 34K reactions`, in any interface language. Undefined if the line is something else. A line of two or more
 * counters in unknown words has no metrics, since their order differs.
 */
export function readCounterLine(line: string, siteConfig: SiteConfig): CounterTexts | undefined {
  const parts = partsOf(line, '·');
  const found = countersIn(parts, siteConfig);
  if (Object.keys(found.metrics).length > 0) return found;
  return parts.length > 1 && parts.every(isCounted) ? found : undefined;
}

/** `14K views, 233 likes, 18 loves, 53 comments`: the likes are one kind of reactions, so they do not count. */
export function readCounterList(list: string, siteConfig: SiteConfig): CounterTexts {
  const parts = partsOf(list, /[,،、]\s+/);
  const found = countersIn(parts, siteConfig);
  if (parts.some((part) => metricOf(part, siteConfig) === undefined)) {
    delete found.metrics.likes;
    delete found.precision.likes;
  }
  return found;
}

function partsOf(line: string, separator: string | RegExp): string[] {
  return line
    .replace(INVISIBLE, '')
    .split(separator)
    .map((part) => part.trim());
}

function countersIn(parts: readonly string[], siteConfig: SiteConfig): CounterTexts {
  const counters: CounterTexts = { metrics: {}, precision: {}, raw_stats: {} };
  for (const part of parts) {
    const metric = isCounted(part) ? metricOf(part, siteConfig) : undefined;
    if (metric) addCounter(counters, metric, part, 'og');
  }
  return counters;
}

function metricOf(part: string, { counters }: SiteConfig): (typeof METRICS)[number] | undefined {
  const words = part.normalize('NFC').toLowerCase();
  return METRICS.find((metric) => counters[metric].some((word) => words.includes(word.normalize('NFC'))));
}

/**
 * A number, perhaps a unit, and what is counted; `10 great plays` is a title. The number is first, except in scripts
 * whose languages have it after the word.
 */
function isCounted(part: string): boolean {
  if (part.length > LONGEST_PART || !NUMBER_FIRST.test(part)) return false;
  const words = part.split(/\s+/);
  const last = words.findLastIndex((word) => /\p{Nd}/u.test(word));
  const behind = words.slice(last + 1);
  const [unit = ''] = behind;
  // A number with a unit is rounded.
  const counted = parseCount(`1 ${unit}`)?.exact === false ? behind.slice(1) : behind;
  const named = PARTICLES.has(counted[0] ?? '') ? counted.slice(1) : counted;
  return named.length < 2 || (named.length < 4 && (/[^ -~]/.test(named.join('')) || TWO_WORDS.test(named.join(' '))));
}
