import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type ErrorCode, GatewayError, type StoredBody } from 'mediagate';
import { createRowInsertScript, type Kysely, rowsOf, type Script, type Tables } from '../../core/database/index.js';
import { hashText } from '../../core/jobs/index.js';
import type { IdempotencyKeysTable } from './idempotent-responses.js';

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
export type JobKeyRow = Pick<IdempotencyKeysTable, 'hash' | 'fingerprint' | 'jobId' | 'expiresAt'>;

/** What rows of such keys have in the place of an answer. */
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

export function hashKey({ scope, key, fingerprint, keptMs = KEPT_MS, replay = true }: Idempotency): KeyHash {
  return { hash: hashText(JSON.stringify([scope, key])), fingerprint: hashText(fingerprint), keptMs, replay };
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** @param queries Only compiles queries. */
export function createIdempotencyKeys(queries: Kysely<Tables>) {
  const insert = createRowInsertScript({
    queries,
    table: 'idempotency_keys',
    sample: { hash: '', fingerprint: '', jobId: '', expiresAt: 0, ...NO_ANSWER },
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
    /** Those of the keys that are remembered at this time and whose job is still there, by their hashes. */
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

/** The header of routes that take a key, as they declare it. */
export const IDEMPOTENCY_HEADER = {
  'Idempotency-Key': 'The same key with the same body is answered as the first request was, for 24 hours.',
} as const;

/** Errors of a key on routes whose clients wait for the answer itself. */
export const IDEMPOTENCY_ERRORS = [
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_in_progress',
] as const satisfies readonly ErrorCode[];

/**
 * The caller's Idempotency-Key: 1 to 255 visible ASCII characters, bare or in quotes; undefined where none was sent.
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

/** Says that the answer is that of an earlier request, by both names that clients know. */
export function markReplayed(response: ServerResponse): void {
  response.setHeader('Idempotency-Replayed', 'true');
  response.setHeader('Idempotent-Replayed', 'true');
}

/** The first request with the key takes longer than others wait for it. */
export function inProgress(): GatewayError {
  const message = 'The first request with this Idempotency-Key is still being worked on.';
  return new GatewayError('idempotency_in_progress', message, { retryAfterSeconds: RETRY_SECONDS });
}

/** How often an SDK has sent the same request before, as OpenAI's clients tell; 0 where nothing is said. */
export function readRetryCount(headers: IncomingHttpHeaders): number {
  const sent = headers['x-stainless-retry-count'];
  return typeof sent === 'string' && /^\d{1,3}$/.test(sent) ? Number(sent) : 0;
}

/** Three bytes are four letters. */
const GROUP = 3;
/** A text that no encoder of ours writes, to be replaced. */
const MARK = 'base64 goes here';

export interface LongBody {
  bytes: AsyncIterable<Uint8Array>;
  length: number;
}

/**
 * JSON with a file in base64 in one place of it. The file passes through a little at a time: as one text, a picture would
 * be in memory three times over, and everybody else would wait while it is put together.
 * @param encode Makes the value around the text that it is given.
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
