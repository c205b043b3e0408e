/*
 * Finds what a text request asks of its vendor beside tokens, for budgets of money: a service tier with prices of its
 * own, and searches in the web. It reads a few fields of the parsed body. An ordinary request yields undefined and
 * allocates nothing.
 */

import type { JsonRecord } from '../../core/runtime/index.js';
import type { HighestUse } from '../prices/index.js';

/** Searches of a tool for which the request states no maximum. */
const USUAL_SEARCHES = 10;
const MAX_SEARCHES = 1_000;
const USUAL_TIERS: ReadonlySet<unknown> = new Set(['auto', 'default', 'standard', 'standard_only']);

/** Undefined for a request that asks for neither. */
export function paidExtrasOf(body: JsonRecord): Omit<HighestUse, 'model'> | undefined {
  const serviceTier = body.speed === 'fast' ? 'fast' : tierOf(body.service_tier);
  const webSearches = searchesOf(body);
  if (serviceTier === undefined && webSearches === 0) return undefined;
  return { ...(serviceTier !== undefined && { serviceTier }), ...(webSearches > 0 && { webSearches }) };
}

function tierOf(tier: unknown): string | undefined {
  return typeof tier === 'string' && !USUAL_TIERS.has(tier) ? tier : undefined;
}

function searchesOf({ tools, max_tool_calls: calls, web_search_options: options }: JsonRecord): number {
  let searches = options === undefined || options === null ? 0 : 1;
  if (!Array.isArray(tools)) return searches;
  for (const tool of tools as readonly (JsonRecord | null)[]) {
    const type = tool?.type;
    if (typeof type !== 'string' || !type.startsWith('web_search')) continue;
    searches += limitOf(tool?.max_uses) ?? limitOf(calls) ?? USUAL_SEARCHES;
  }
  return Math.min(searches, MAX_SEARCHES);
}

function limitOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
