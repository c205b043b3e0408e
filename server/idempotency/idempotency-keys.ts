/*
 * Idempotency keys: the header, the hash that is stored, the rows of keys whose answer is a job, and the headers of a
 * repeated answer. Only hashes of the key and of the fingerprint are stored, for 24 hours. The file also encodes JSON
 * around a base64 file: the file is streamed, since an image as one text would be in memory three times and would block
 * the event loop while it is put together.
 */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { StoredBody } from '../../core/contracts/index.js';
import { createRowInsertScript, type Kysely, rowsOf, type Script, type Tables } from '../../core/database/index.js';
import { hashText } from '../../core/jobs/index.js';
import { type ErrorCode, GatewayError } from '../../core/runtime/index.js';
import type { IdempotencyKeysTable } from './answer-table.js';

const RETENTION_MS = 24 * 60 * 60 * 1000;

/** Requests of the same scope and key are the same request. Only hashes of the texts are stored. */
export interface Idempotency {
  /** The API key and the route. */
  scope: string;
  key: string;
  /** Fingerprint of everything relevant in the request. */
  fingerprint: string;
  /** Milliseconds that the key is stored. Default 24 hours. */
  retentionMs?: number;
  /** False ignores a stored job and stores the new one, which later requests then receive. Default true. */
  replay?: boolean;
}

/** The idempotency key of a request, as it is stored. */
export interface KeyHash {
  hash: string;
  fingerprint: string;
  retentionMs: number;
  replay: boolean;
}

/** The row of a key with a job as its answer. */
export type JobKeyRow = Pick<IdempotencyKeysTable, 'hash' | 'fingerprint' | 'jobId' | 'expiresAt'>;

/** Column values of such rows in place of an answer. */
const NO_ANSWER = {
  accountId: null,
  answerId: null,
  processId: null,
  head: null,
  failure: null,
  bytes: 0,
} as const;

export interface Remembered {
  fingerprint: string;
  jobId: string;
}

export function hashKey({ scope, key, fingerprint, retentionMs = RETENTION_MS, replay = true }: Idempotency): KeyHash {
  return { hash: hashText(JSON.stringify([scope, key])), fingerprint: hashText(fingerprint), retentionMs, replay };
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** @param queries Only compiles queries. */
export function createIdempotencyKeys(queries: Kysely<Tables>) {
  const insert = createRowInsertScript({
    queries,
    table: 'idempotency_keys',
    alike: NO_ANSWER,
    finish: (rows) =>
      rows.onConflict((conflict) =>
        conflict.column('hash').doUpdateSet(({ ref }) => ({
          fingerprint: ref('excluded.fingerprint'),
          jobId: ref('excluded.jobId'),
          expiresAt: ref('excluded.expiresAt'),
        })),
      ),
  });

  return {
    /** Keys that have not expired and still have their job, by hash. */
    *find(hashes: readonly string[], at: number): Script<Map<string, Remembered>> {
      if (hashes.length === 0) return new Map();
      const rows = yield* rowsOf(
        queries
          .selectFrom('idempotency_keys')
          .innerJoin('jobs', 'jobs.id', 'idempotency_keys.jobId')
          .select(['hash', 'fingerprint', 'jobId'])
          .where('idempotency_keys.hash', 'in', hashes)
          .where('idempotency_keys.expiresAt', '>', at)
          .compile(),
      );
      return new Map(rows.map(({ hash, fingerprint, jobId }) => [hash, { fingerprint, jobId }]));
    },

    /** Replaces the stored rows of the same keys; each key once. */
    *remember(rows: readonly JobKeyRow[]): Script<void> {
      yield* insert(rows.map((row) => ({ ...row, ...NO_ANSWER })));
    },
  };
}

/** Deletes at most `limit` expired keys. Returns how many. */
export async function forgetExpired(queries: Kysely<Tables>, at: number, limit: number): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom('idempotency_keys')
    .where('hash', 'in', (old) =>
      old.selectFrom('idempotency_keys').select('hash').where('expiresAt', '<=', at).limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export function keyReused(): GatewayError {
  return new GatewayError('idempotency_key_reused', 'This Idempotency-Key was used for another request.', {
    param: 'Idempotency-Key',
  });
}

const MAX_LENGTH = 255;
const RETRY_SECONDS = 5;

/** The request header, as routes that support keys declare it. */
export const IDEMPOTENCY_HEADER = {
  'Idempotency-Key': 'The same key with the same body is answered as the first request was, for 24 hours.',
} as const;

/** Errors of a key on routes where clients wait for the answer itself. */
export const IDEMPOTENCY_ERRORS = [
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_in_progress',
] as const satisfies readonly ErrorCode[];

/**
 * The caller's Idempotency-Key: 1 to 255 visible ASCII characters, bare or in quotes; undefined if none was sent.
 * @throws GatewayError `invalid_idempotency_key`.
 */
export function readIdempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const sent = headers['idempotency-key'];
  if (sent === undefined) return undefined;
  const text = String(sent).trim();
  const key = /^"(.*)"$/.exec(text)?.[1]?.replace(/\\(["\\])/g, '$1') ?? text;
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_LENGTH) return key;
  const message = `The Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters.`;
  throw new GatewayError('invalid_idempotency_key', message, { param: 'Idempotency-Key' });
}

/** Marks the answer as that of an earlier request, with both header names that clients know. */
export function markReplayed(response: ServerResponse): void {
  response.setHeader('Idempotency-Replayed', 'true');
  response.setHeader('Idempotent-Replayed', 'true');
}

/** The first request with the key takes longer than others wait for it. */
export function inProgress(): GatewayError {
  const message = 'The first request with this Idempotency-Key is still running.';
  return new GatewayError('idempotency_in_progress', message, { retryAfterSeconds: RETRY_SECONDS });
}

/** How often an SDK has retried the request, in the header of OpenAI's clients; 0 without it. */
export function readRetryCount(headers: IncomingHttpHeaders): number {
  const sent = headers['x-stainless-retry-count'];
  return typeof sent === 'string' && /^\d{1,3}$/.test(sent) ? Number(sent) : 0;
}

/** Three bytes are four letters. */
const GROUP = 3;
/** A placeholder that none of our encoders produces. */
const MARK = 'base64 goes here';

export interface LongBody {
  bytes: AsyncIterable<Uint8Array>;
  length: number;
}

/**
 * Encodes JSON that contains a base64 file in one place. The file is streamed: as one text, an image would be in memory
 * three times, and assembling it would block the event loop.
 * @param encode Creates the value around the given text.
 */
export function encodeAround(file: StoredBody, encode: (base64: string) => unknown): LongBody {
  const [head = '', tail = ''] = JSON.stringify(encode(MARK)).split(MARK);
  const letters = Math.ceil(file.size / GROUP) * 4;
  return {
    bytes: pieces(Buffer.from(head), file.body, Buffer.from(tail)),
    length: Buffer.byteLength(head) + letters + Buffer.byteLength(tail),
  };
}

async function* pieces(head: Uint8Array, file: AsyncIterable<Uint8Array>, tail: Uint8Array) {
  yield head;
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of file) {
    const joined = Buffer.concat([rest, chunk]);
    const whole = joined.length - (joined.length % GROUP);
    yield Buffer.from(joined.toString('base64', 0, whole), 'latin1');
    rest = joined.subarray(whole);
  }
  yield Buffer.from(Buffer.from(rest).toString('base64'), 'latin1');
  yield tail;
}
