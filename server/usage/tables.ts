import type { JobKind } from '../../core/jobs/index.js';
import type { Budget } from './budgets.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    ledger: UsageLogTable;
    budgets: BudgetsTable;
    reservations: ReservationsTable;
    usage_entries: UsageEntriesTable;
    usage_totals: UsageTotalsTable;
    usage_sums: UsageSumsTable;
    background_responses: BackgroundResponsesTable;
  }
}

/** What completed jobs cost: one row each, which outlives the job. */
export interface UsageLogTable {
  job_id: string;
  kind: JobKind;
  account_id: string;
  key_id: string;
  model: string;
  units: number;
  /** JSON. */
  usage: string | null;
  at: number;
}

/** What a plan allows, and what of it is used in the running period and day; see budgets.ts. */
export interface BudgetsTable {
  id: string;
  account_id: string;
  plan_id: string;
  token_limit: number | null;
  daily_token_limit: number | null;
  request_limit: number | null;
  resets: Budget['resets'];
  expires_at: number | null;
  created_at: number;
  /** By UTC: empty where it never ends, else `2026-06` or `2026-06-15`. */
  period: string;
  tokens_used: number;
  tokens_reserved: number;
  requests_used: number;
  day: string;
  tokens_used_today: number;
}

/** Requests under way that hold tokens of a budget. Deleted by whatever settles them, so that happens once. */
export interface ReservationsTable {
  id: string;
  budget_id: string;
  key_id: string;
  account_id: string;
  route: string;
  model: string;
  tokens: number;
  /** Of the budget, when its request was counted. */
  period: string;
  /** Id of the process that holds it; see heartbeat.ts. */
  runner_id: string;
  at: number;
}

/** One row for each request of a model route. */
export interface UsageEntriesTable {
  key_id: string;
  at: number;
  request_id: string;
  account_id: string;
  route: string;
  model: string;
  status: number;
  latency_ms: number;
  input_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  characters: number | null;
  seconds: number | null;
  images: number | null;
  /** 1 or 0. */
  estimated: number;
}

export interface UsageTotalsTable {
  key_id: string;
  /** By UTC: `2026-06-15`. */
  day: string;
  account_id: string;
  route: string;
  model: string;
  requests: number;
  failed: number;
  estimated: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  characters: number;
  seconds: number;
  images: number;
  latency_ms_sum: number;
}

/** Requests that were counted together, without entries of their own, and are not to be counted again. */
export interface UsageSumsTable {
  id: string;
  at: number;
}

/** Responses that their upstream goes on making. Deleted by whatever corrects their entry for good, so that happens once. */
export interface BackgroundResponsesTable {
  id: string;
  account_id: string;
  model: string;
  upstream: string;
  /** These three name the entry that counts it by an estimate. */
  key_id: string;
  at: number;
  request_id: string;
  /** What the estimate was charged to. */
  budget_id: string | null;
  /** When the upstream is to be asked next. */
  due_at: number;
  /** From the last time that it was asked to the next; 0 where it never was. */
  wait_ms: number;
}
