/*
 * Sums of the totals by one dimension: day, key, model, platform or route. A platform stands in the column of the
 * model, so the platforms of the gateway say which of the two a row is about. The same sums serve the routes, the CSV
 * files and the pages.
 */

import { csvLine, dayOf } from '../format/index.js';
import type { UsageTotal } from './tables.js';
import { addUp, type DayRange, encodeCounts, type UsageCounts } from './usage-report.js';

export const USAGE_DIMENSIONS = ['day', 'key', 'model', 'platform', 'route'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** What of the usage is read; everything that is absent is not limited. */
export interface UsageFilter {
  key?: string | undefined;
  model?: string | undefined;
  platform?: string | undefined;
  route?: string | undefined;
}

export interface UsageGroup {
  /** A day, the id of a key or model, the key of a platform, or a route; empty for requests without one. */
  name: string;
  counts: UsageCounts;
}

/** Keys of the platforms that the gateway knows. */
export type Platforms = ReadonlySet<string>;

const DAY_MS = 24 * 60 * 60 * 1000;

export function filterTotals(totals: readonly UsageTotal[], filter: UsageFilter): UsageTotal[] {
  const { key, model, platform, route } = filter;
  return totals.filter(
    (total) =>
      (key === undefined || total.keyId === key) &&
      (model === undefined || total.model === model) &&
      (platform === undefined || total.model === platform) &&
      (route === undefined || total.route === route),
  );
}

/** Days newest first; everything else by the number of requests. Rows that are not about the dimension are left out. */
export function groupUsage(
  totals: readonly UsageTotal[],
  dimension: UsageDimension,
  platforms: Platforms,
): readonly UsageGroup[] {
  const named = totals.flatMap((total) => {
    const name = nameIn(total, dimension, platforms);
    return name === undefined ? [] : [{ name, total }];
  });
  const groups = Array.from(
    Map.groupBy(named, ({ name }) => name),
    ([name, rows]) => ({ name, counts: addUp(rows.map(({ total }) => total)) }),
  );
  if (dimension === 'day') return groups.sort((left, right) => (left.name < right.name ? 1 : -1));
  return groups.sort((left, right) => weightOf(right) - weightOf(left) || (left.name < right.name ? -1 : 1));
}

/** Those that cost most first; without costs they keep their order. */
export function dearestFirst(groups: readonly UsageGroup[]): readonly UsageGroup[] {
  return groups.toSorted((one, other) => other.counts.cost - one.counts.cost);
}

function weightOf({ counts: { requests, refused } }: UsageGroup): number {
  // Requests come first; groups of refused ones alone follow, with the most of them first.
  return requests * 1e6 + refused;
}

function nameIn(total: UsageTotal, dimension: UsageDimension, platforms: Platforms): string | undefined {
  if (dimension === 'day') return total.day;
  if (dimension === 'key') return total.keyId;
  if (dimension === 'route') return total.route;
  const isPlatform = platforms.has(total.model);
  return isPlatform === (dimension === 'platform') && total.model !== '' ? total.model : undefined;
}

/** Each day of a range, oldest first, also those without a request. */
export function eachDayOf({ from, to }: DayRange, totals: readonly UsageTotal[]): readonly UsageGroup[] {
  const ofDay = Map.groupBy(totals, ({ day }) => day);
  const days: UsageGroup[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const name = dayOf(at);
    days.push({ name, counts: addUp(ofDay.get(name) ?? []) });
  }
  return days;
}

/** What no group is about, such as links in sums by model, so that the groups add up to the total. Its name is empty. */
export function restOf(groups: readonly UsageGroup[], total: UsageCounts): readonly UsageGroup[] {
  const named: Readonly<Record<string, number>> = { ...addUp(groups.map(({ counts }) => counts)) };
  const left = Object.entries(total).map(([field, value]) => [field, value - (named[field] ?? 0)] as const);
  const counts = Object.fromEntries(left) as UsageCounts;
  return groups.length > 0 && counts.requests + counts.refused > 0 ? [{ name: '', counts }] : [];
}

/** The part of the usage that is of a group; of everything else without a name. */
export interface UsagePart {
  name: string | undefined;
  /** Each day of the range, oldest first. */
  days: readonly UsageGroup[];
}

/** The days of each group, in the order of the names, and of the rest if there is any. */
export function partsOf(
  totals: readonly UsageTotal[],
  { range, dimension, names }: { range: DayRange; dimension: UsageDimension; names: readonly string[] },
  platforms: Platforms,
): readonly UsagePart[] {
  const ofName = Map.groupBy(totals, (total) => {
    const name = nameIn(total, dimension, platforms);
    return name !== undefined && names.includes(name) ? name : undefined;
  });
  return [...names, undefined].flatMap((name) => {
    const own = ofName.get(name);
    return own ? { name, days: eachDayOf(range, own) } : [];
  });
}

/** As CSV: the first line has the names of the fields, which are those of the JSON. @param names Names of keys by id. */
export function renderUsageCsv(
  groups: readonly UsageGroup[],
  dimension: UsageDimension,
  { currency, names }: { currency?: string | undefined; names?: ReadonlyMap<string, string> | undefined },
): string {
  const head = [dimension, ...(names ? ['name'] : []), ...Object.keys(encodeCounts(addUp([]), currency !== undefined))];
  const columns = currency === undefined ? head : [...head, 'currency'];
  const lines = groups.map(({ name, counts }) => {
    const cells = {
      [dimension]: name,
      name: names?.get(name) ?? '',
      currency,
      ...encodeCounts(counts, currency !== undefined),
    };
    return csvLine(columns, cells);
  });
  return [csvLine(columns), ...lines].join('');
}
