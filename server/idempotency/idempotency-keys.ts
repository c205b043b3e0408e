import type { Kysely, Tables } from '../../core/database/index.js';
import { createRowInsertScript, rowsOf, type Script } from '../../core/database/index.js';
import { hashText } from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { IdempotencyKeysTable } from './tables.js';

const KEPT_MS = 24 * 60 * 60 * 1000;

/** Requests of the same scope and key are one request. Only hashes of the texts are stored. */
export interface Idempotency {
  /** Whose key it is: the API key and the route. */
  scope: string;
  key: string;
  /** Of everything in the request that matters. */
  fingerprint: string;
  /** Milliseconds that the key is remembered. Default 24 hours. */
  keptMs?: number;
  /**
   * False only remembers: the job is a new one whatever was remembered, and the one that later requests get again. Default
   * true.
   */
  replay?: boolean;
}

/** A key that a request came with, as it is stored. */
export interface KeyHash {
  hash: string;
  fingerprint: string;
  keptMs: number;
  replay: boolean;
}

/** A key whose answer is a job, as a row. */
export type JobKeyRow = Pick<IdempotencyKeysTable, 'hash' | 'fingerprint' | 'job_id' | 'expires_at'>;

/** What rows of such keys have in the place of an answer. */
const NO_ANSWER = {
  account_id: null,
  answer_id: null,
  runner: null,
  beat: 0,
  head: null,
  failure: null,
  bytes: 0,
} as const;

export interface Remembered {
  fingerprint: string;
  jobId: string;
}

export function hashKey({ scope, key, fingerprint, keptMs = KEPT_MS, replay = true }: Idempotency): KeyHash {
  return { hash: hashText(JSON.stringify([scope, key])), fingerprint: hashText(fingerprint), keptMs, replay };
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** @param queries Only compiles queries. */
export function createIdempotencyKeys(queries: Kysely<Tables>) {
  const insert = createRowInsertScript({
    queries,
    table: 'idempotency_keys',
    sample: { hash: '', fingerprint: '', job_id: '', expires_at: 0, ...NO_ANSWER },
    alike: NO_ANSWER,
    finish: (rows) =>
      rows.onConflict((conflict) =>
        conflict.column('hash').doUpdateSet(({ ref }) => ({
          fingerprint: ref('excluded.fingerprint'),
          job_id: ref('excluded.job_id'),
          expires_at: ref('excluded.expires_at'),
        })),
      ),
  });

  return {
    /** Those of the keys that are remembered at this time and whose job is still there, by their hashes. */
    *find(hashes: readonly string[], at: number): Script<Map<string, Remembered>> {
      if (hashes.length === 0) return new Map();
      const rows = yield* rowsOf(
        queries
          .selectFrom('idempotency_keys')
          .innerJoin('jobs', 'jobs.id', 'idempotency_keys.job_id')
          .select(['hash', 'fingerprint', 'job_id'])
          .where('idempotency_keys.hash', 'in', hashes)
          .where('idempotency_keys.expires_at', '>', at)
          .compile(),
      );
      return new Map(rows.map(({ hash, fingerprint, job_id }) => [hash, { fingerprint, jobId: job_id }]));
    },

    /** In the place of what was remembered of the same keys before; each key once. */
    *remember(rows: readonly JobKeyRow[]): Script<void> {
      yield* insert(rows.map((row) => ({ ...row, ...NO_ANSWER })));
    },
  };
}

/** At most `limit` of those whose time is over; how many. */
export async function forgetExpired(queries: Kysely<Tables>, at: number, limit: number): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom('idempotency_keys')
    .where('hash', 'in', (old) =>
      old.selectFrom('idempotency_keys').select('hash').where('expires_at', '<=', at).limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export function keyReused(): GatewayError {
  return new GatewayError('idempotency_key_reused', 'This Idempotency-Key was used for another request.', {
    param: 'Idempotency-Key',
  });
}
