import type { Settlement } from './admissions.js';
import type { UsageEntriesTable, UsageTotalsTable } from './tables.js';
import { countsOf, wholeNumber } from './usage-counts.js';
import type { UsageEntry, UsageTotal } from './usage-log.js';

export function toEntryRow(settlement: Settlement): UsageEntriesTable {
  const { keyId, at, requestId, accountId, route, model, status, latencyMs, usage } = settlement;
  return {
    key_id: keyId,
    at: Math.floor(at),
    request_id: requestId,
    account_id: accountId,
    route,
    model,
    status,
    latency_ms: wholeNumber(latencyMs) ?? 0,
    ...countsOf(usage),
    estimated: usage?.estimated ? 1 : 0,
  };
}

export function toUsageTotal(row: UsageTotalsTable): UsageTotal {
  return {
    day: row.day,
    keyId: row.key_id,
    accountId: row.account_id,
    route: row.route,
    model: row.model,
    requests: row.requests,
    failed: row.failed,
    estimated: row.estimated,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    characters: row.characters,
    seconds: row.seconds,
    images: row.images,
    latencyMsSum: row.latency_ms_sum,
  };
}

export function toUsageEntry(row: UsageEntriesTable): UsageEntry {
  return {
    requestId: row.request_id,
    keyId: row.key_id,
    accountId: row.account_id,
    route: row.route,
    model: row.model,
    status: row.status,
    latencyMs: row.latency_ms,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    characters: row.characters,
    seconds: row.seconds,
    images: row.images,
    estimated: row.estimated === 1,
    at: row.at,
  };
}
