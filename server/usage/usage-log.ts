import type { Database, Kysely, Tables } from '../../core/database/index.js';
import { toUsageEntry, toUsageTotal } from './usage-rows.js';

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
export interface UsageLog {
  /** Newest day first. */
  totals(query: UsageQuery): Promise<readonly UsageTotal[]>;
  /** Newest first. */
  entries(query: UsageQuery, limit: number): Promise<readonly UsageEntry[]>;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The usage ledger in SQL, to look at. It is written by admissions. */
export function createUsageLog(database: Database): UsageLog {
  return {
    async totals({ keyId, accountId, from, to }) {
      const rows = await database.run((queries) => {
        let select = queries.selectFrom('usage_totals').selectAll().where('day', '>=', from).where('day', '<=', to);
        if (keyId !== undefined) select = select.where('key_id', '=', keyId);
        if (accountId !== undefined) select = select.where('account_id', '=', accountId);
        return select.orderBy('day', 'desc').orderBy('key_id').orderBy('route').orderBy('model').execute();
      });
      return rows.map(toUsageTotal);
    },

    async entries(query, limit) {
      const rows = await database.run((queries) => selectEntries(queries, query).limit(limit).execute());
      return rows.map(toUsageEntry);
    },
  };
}

function selectEntries(queries: Kysely<Tables>, { keyId, accountId, from, to }: UsageQuery) {
  let select = queries
    .selectFrom('usage_entries')
    .selectAll()
    .where('at', '>=', Date.parse(from))
    .where('at', '<', Date.parse(to) + DAY_MS)
    .orderBy('at', 'desc')
    .orderBy('request_id');
  if (keyId !== undefined) select = select.where('key_id', '=', keyId);
  if (accountId !== undefined) {
    // By its keys, which the index begins with.
    const keys = queries.selectFrom('api_keys').select('id').where('account_id', '=', accountId);
    select = select.where('key_id', 'in', keys).where('account_id', '=', accountId);
  }
  return select;
}
