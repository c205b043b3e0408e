import { isoTime } from '../format/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import type { SlotAnswer } from '../limits/index.js';
import { leftOf } from './budget-text.js';
import type { BudgetState } from './budgets.js';
import { addUp, type DayRange, type UsageCounts } from './usage-days.js';
import type { UsageTotal } from './usage-log.js';

/** What a key is told about itself. */
export interface KeyUsage {
  key: ApiKeyRecord;
  /** By family; undefined where the key has no window. */
  windows: Readonly<Record<string, SlotAnswer>> | undefined;
  budget: BudgetState | undefined;
  range: DayRange;
  /** Newest day first. */
  totals: readonly UsageTotal[];
}

export function encodeKeyUsage({ key, windows, budget, range, totals }: KeyUsage) {
  const days = Map.groupBy(totals, ({ day }) => day);
  return {
    object: 'usage',
    key: {
      id: key.id,
      name: key.name,
      plan: key.planId,
      grants: key.grants,
      models: key.models,
      expires_at: isoTime(key.expiresAt),
    },
    window: windows ? encodeWindows(key.rpm, windows) : null,
    budget: budget ? encodeBudget(budget) : null,
    from: range.from,
    to: range.to,
    total: encodeCounts(addUp(totals)),
    days: Array.from(days, ([day, ofDay]) => ({
      day,
      ...encodeCounts(addUp(ofDay)),
      models: ofDay.map((total) => ({ model: total.model, route: total.route, ...encodeCounts(total) })),
    })),
  };
}

export function encodeCounts(counts: UsageCounts) {
  const { requests, failed, estimated, latencyMsSum } = counts;
  return {
    requests,
    failed,
    estimated,
    input_tokens: counts.inputTokens,
    cached_tokens: counts.cachedTokens,
    output_tokens: counts.outputTokens,
    reasoning_tokens: counts.reasoningTokens,
    characters: counts.characters,
    seconds: counts.seconds,
    images: counts.images,
    latency_ms_mean: requests === 0 ? 0 : Math.round(latencyMsSum / requests),
  };
}

function encodeWindows(limit: number | null, windows: Readonly<Record<string, SlotAnswer>>) {
  return {
    limit,
    seconds: 60,
    families: Object.fromEntries(
      Object.entries(windows).map(([family, { remaining, resetMs }]) => [
        family,
        { remaining, reset_seconds: Math.ceil(resetMs / 1000) },
      ]),
    ),
  };
}

function encodeBudget(budget: BudgetState) {
  const { requests = null, tokens = null, tokensToday = null } = leftOf(budget);
  return {
    resets: budget.resets,
    expires_at: isoTime(budget.expiresAt),
    requests: { limit: budget.requestLimit, used: budget.requestsUsed, left: requests },
    tokens: { limit: budget.tokenLimit, used: budget.tokensUsed, reserved: budget.tokensReserved, left: tokens },
    tokens_today: { limit: budget.dailyTokenLimit, used: budget.tokensUsedToday, left: tokensToday },
  };
}
