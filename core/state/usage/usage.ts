/** What requests used: all of a key, a route, a model and a day (UTC) together. */
export interface UsageTotal {
  /** `2026-06-15`. */
  day: string;
  keyId: string;
  accountId: string;
  route: string;
  model: string;
  requests: number;
  /** Of them, answered with a status of 400 and more. */
  failed: number;
  /** Of them, those whose usage was counted by us. */
  estimated: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  characters: number;
  /** Seconds of sound. */
  seconds: number;
  images: number;
  latencyMsSum: number;
}

export interface UsageQuery {
  keyId?: string;
  accountId?: string;
  /** First and last day, both included: `2026-06-15`. */
  from: string;
  to: string;
}

/** One request as it is kept, 90 days. */
export interface UsageEntry {
  requestId: string;
  keyId: string;
  accountId: string;
  route: string;
  model: string;
  status: number;
  latencyMs: number;
  inputTokens: number | null;
  cachedTokens: number | null;
  outputTokens: number | null;
  reasoningTokens: number | null;
  characters: number | null;
  seconds: number | null;
  images: number | null;
  estimated: boolean;
  at: number;
}

/** The usage ledger, to look at. Throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface UsageLedger {
  /** Newest day first. */
  totals(query: UsageQuery): Promise<readonly UsageTotal[]>;
  /** Newest first. */
  entries(query: UsageQuery, limit: number): Promise<readonly UsageEntry[]>;
}
