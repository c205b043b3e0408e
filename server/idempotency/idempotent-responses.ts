/*
 * The running requests with an idempotency key and the stored answers of those that ended, in SQL; bodies are files.
 * One insert decides which request does the work: a free or expired row counts as missing. Statements that end work
 * name it, so it ends once. If a process dies, its keys are free: at once if its death can be determined, else after
 * the lease. A statement that may have committed without an answer is repeated by a poll. An account may have 10,000
 * answers with 256 MiB together, under a named lock.
 */

import type { JobFailure, Logger } from '../../core/contracts/index.js';
import {
  type CompiledQuery,
  type Database,
  type DatabaseClock,
  Doubts,
  type Instances,
  isProcessDead,
  lockNamed,
  type Migrations,
  rowsOf,
  type Script,
  sql,
  sqlMigration,
} from '../../core/database/index.js';
import {
  createCompletionWaiters,
  type Dispatcher,
  toFailure,
  toJson,
  type WaitOptions,
} from '../../core/jobs/index.js';
import {
  createThrottledWarning,
  drawRandomBytes,
  GatewayError,
  isGatewayError,
  type PollLoop,
  startPollLoop,
} from '../../core/runtime/index.js';
import type { AnswerHead } from '../http/index.js';
import { hashKey, type Idempotency, type KeyHash, keyReused } from './idempotency-keys.js';

/** A request with an idempotency key and an answer that is no job. */
export interface AnswerRequest extends Pick<Idempotency, 'scope' | 'key' | 'fingerprint'> {
  /** The account; its answers share a limit. */
  accountId: string;
}

/** The work of the one request that runs for a key. */
export interface AnswerWork {
  /** `answer_` and 128 random bits in hex; also names the file of the body, {@link answerFileOf}. */
  readonly id: string;
  /** Hash of scope and key. */
  readonly hash: string;
  readonly accountId: string;
  /** Milliseconds since 1970: until then the answer is repeated. */
  readonly expiresAt: number;
  /** Maximum bytes of its body, by what the account has stored already; 0 if nothing more can be stored. */
  readonly room: number;
}

export interface IdempotentResponse extends AnswerHead {
  /** File of its body. */
  file: string;
}

export type AnswerClaim =
  /** The caller must do the work, and report its end. */
  | { state: 'begun'; work: AnswerWork }
  /** Another request does it. */
  | { state: 'running'; id: string }
  | { state: 'answered'; answer: IdempotentResponse };

/**
 * The running requests with an idempotency key, and the answers of those that ended. Answers are stored for 24 hours,
 * failures are not. The key of a dead process's work is free (see heartbeat.ts): at once if its death can be
 * determined, else after a lease without a heartbeat. All methods throw GatewayError `upstream_unavailable` if the
 * database does not answer.
 */
export interface IdempotentResponses {
  /** @throws GatewayError `idempotency_key_reused` if the key belongs to a different request. */
  claim(request: AnswerRequest): Promise<AnswerClaim>;
  /**
   * The work has ended with an answer; its body is in its file. False if it is not stored: the account has no room for
   * it, or the work was considered dead. Then the next request with the key is a new one.
   */
  keep(work: AnswerWork, answer: AnswerHead & { bytes: number }): Promise<boolean>;
  /**
   * The work has ended without a stored answer. The next request is a new one; waiting requests receive the failure, if
   * any.
   */
  release(work: AnswerWork, failure?: GatewayError): Promise<void>;
  /** Resolves when the work has ended or the time is over, with the failure of the work. */
  waitFor(id: string, options: WaitOptions): Promise<GatewayError | undefined>;
}

/** File name of a work's answer. */
export function answerFileOf({ id }: Pick<AnswerWork, 'id'>): string {
  return `${id}.bin`;
}

export interface IdempotentResponsesOptions {
  database: Database;
  dispatcher: Dispatcher;
  instances: Instances;
  clock: DatabaseClock;
  /** Milliseconds between two polls of a waiting request. Default 1,000. */
  pollMs?: number;
  logger: Logger;
}

export interface ClosableIdempotentResponses extends IdempotentResponses {
  close(): Promise<void>;
}

/** Answers in the table of the idempotency keys. */
export function createIdempotentResponses(options: IdempotentResponsesOptions): ClosableIdempotentResponses {
  const { database, dispatcher, instances, clock, pollMs, logger } = options;
  const table = createAnswerTable(database);
  const report = createThrottledWarning(logger, 'requests with an Idempotency-Key wait for the database');
  const waits = createCompletionWaiters({ findEnded, dispatcher, pollMs, report });
  /** Work that this process has ended without writing its row. */
  const doubts = new Doubts((ids) => table.free(ids));
  let polling: PollLoop | undefined;

  instances.onProcessDead({
    holders: () => table.holders(),
    async release(dead) {
      const ids = await database.script(function* () {
        const freed = yield* table.freeAllOf(dead);
        yield* dispatcher.announceEnds(freed);
        return freed;
      });
      for (const id of ids) dispatcher.ended(id);
    },
  });

  async function findEnded(ids: readonly string[]): Promise<string[]> {
    const alive = new Set((await running(ids)).map(({ id }) => id));
    return ids.filter((id) => !alive.has(id));
  }

  /** Those that are still running. The work of an ended process is free at once. */
  async function running(ids: readonly string[]): Promise<WorkSeen[]> {
    const found = await table.running(ids);
    if (!found.some(({ processId }) => isProcessDead(processId))) return found;
    await instances.check();
    return table.running(ids);
  }

  function doubt(id: string): void {
    doubts.add(id);
    polling ??= startPollLoop({ intervalMs: instances.leaseMs / 3, work: () => doubts.settle(), report });
  }

  /** In any case this process has ended the work. */
  async function end<Result>(work: AnswerWork, write: () => Promise<Result>): Promise<Result> {
    try {
      return await write();
    } catch (error) {
      doubt(work.id);
      throw error;
    } finally {
      dispatcher.ended(work.id);
    }
  }

  return {
    async claim({ accountId, ...idempotency }) {
      const key = hashKey(idempotency);
      const id = `answer_${drawRandomBytes(16).toString('hex')}`;
      await instances.enter();
      const { taken, at } = await database
        .script(
          function* () {
            const now = yield* clock.readScript();
            return { at: now, taken: yield* table.take({ key, id, accountId, processId: instances.id, at: now }) };
          },
          { durability: 'relaxed' },
        )
        .catch((error: unknown) => {
          // It may have committed.
          if (isGatewayError(error) && error.code === 'upstream_unavailable') doubt(id);
          throw error;
        });
      if ('room' in taken) {
        const { room } = taken;
        return { state: 'begun', work: { id, hash: key.hash, accountId, expiresAt: at + key.retentionMs, room } };
      }
      if (taken.answerId === null) throw new Error('an idempotency key of an answer is that of a job');
      if (taken.processId !== null) return { state: 'running', id: taken.answerId };
      const head = JSON.parse(taken.head ?? '') as AnswerHead;
      return { state: 'answered', answer: { ...head, file: answerFileOf({ id: taken.answerId }) } };
    },

    keep: (work, { status, headers, bytes }) =>
      end(work, () =>
        database.script(function* () {
          const at = yield* clock.readScript();
          const isStorable = yield* table.keep(work, { head: toJson({ status, headers }), bytes, at });
          if (!isStorable) yield* table.release(work, { failure: null, at });
          yield* dispatcher.announceEnds([work.id]);
          return isStorable;
        }),
      ),

    release: (work, failure) =>
      end(work, () =>
        database.script(
          function* () {
            // A shutdown of this process is no answer: another waiting process takes over the work.
            const isReported = failure !== undefined && failure.code !== 'shutting_down';
            const stored = isReported ? toJson(toFailure(failure)) : null;
            yield* table.release(work, { failure: stored, at: yield* clock.readScript() });
            yield* dispatcher.announceEnds([work.id]);
          },
          { durability: 'relaxed' },
        ),
      ),

    async waitFor(id, { timeoutMs, signal }) {
      signal?.throwIfAborted();
      const wait = waits.begin(id);
      try {
        if ((await running([id])).length > 0) await wait.over(timeoutMs, signal);
      } finally {
        wait.stop();
      }
      const failure = await table.failureOf(id);
      return failure === null ? undefined : toError(JSON.parse(failure));
    },

    async close() {
      await polling?.stop();
      await waits.stop();
    },
  };
}

function toError({ code, message, ...details }: JobFailure): GatewayError {
  return new GatewayError(code, message, details);
}

/** Maximum answers of one account, including running ones. */
const MAX_ANSWERS = 10_000;
/** Their maximum bytes. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Milliseconds in which waiting requests can read a failure. */
const FAILURE_RETENTION_MS = 60_000;
const FREE = sql<boolean>`(idempotency_keys."answerId" is not null and idempotency_keys."processId" is null
  and idempotency_keys.head is null)`;
/** A key that is freed again and again while it is requested is used by too many clients. */
const TRIES = 5;

/** The state of a key that another request runs. */
export type AnswerRow = Pick<IdempotencyKeysTable, 'answerId' | 'processId' | 'head'>;

export interface NewAnswer {
  key: KeyHash;
  id: string;
  accountId: string;
  processId: string;
  at: number;
}

/** Running work as other processes see it. */
export type WorkSeen = { id: string; processId: string };

export type AnswerTable = ReturnType<typeof createAnswerTable>;

/** The statements for keys with an answer that is no job. Each that ends work names it, so that it ends once. */
export function createAnswerTable({ engine, queries, run }: Database) {
  /** A free or expired row counts as missing: the one statement that takes a key decides who does the work. */
  function insert({ key, id, accountId, processId, at }: NewAnswer): CompiledQuery<{ hash: string }> {
    const row = {
      fingerprint: key.fingerprint,
      jobId: '',
      expiresAt: at + key.retentionMs,
      accountId,
      answerId: id,
      processId,
      head: null,
      failure: null,
      bytes: 0,
    };
    return queries
      .insertInto('idempotency_keys')
      .values({ hash: key.hash, ...row })
      .onConflict((conflict) =>
        conflict
          .column('hash')
          .doUpdateSet(row)
          .where(({ eb, or }) => or([eb('idempotency_keys.expiresAt', '<=', at), FREE])),
      )
      .returning('hash')
      .compile();
  }

  function select(hash: string): CompiledQuery<AnswerRow & { fingerprint: string }> {
    return queries
      .selectFrom('idempotency_keys')
      .select(['fingerprint', 'answerId', 'processId', 'head'])
      .where('hash', '=', hash)
      .compile();
  }

  /** Free bytes for one more answer of the account. */
  function* room(accountId: string, at: number): Script<number> {
    const [existing] = yield* rowsOf(
      queries
        .selectFrom('idempotency_keys')
        .select(({ fn }) => [
          fn.countAll<number>().as('count'),
          sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'),
        ])
        .where('accountId', '=', accountId)
        .where('expiresAt', '>', at)
        .compile(),
    );
    const { count, bytes } = existing as { count: number; bytes: number };
    return count > MAX_ANSWERS ? 0 : Math.max(0, MAX_BYTES - bytes);
  }

  function* isEnded(end: CompiledQuery<{ hash: string }>): Script<boolean> {
    return (yield* rowsOf(end)).length > 0;
  }

  const update = ({ hash, id }: AnswerWork, set: Partial<IdempotencyKeysTable>) =>
    queries
      .updateTable('idempotency_keys')
      .set({ processId: null, ...set })
      .where('hash', '=', hash)
      .where('answerId', '=', id)
      .where('processId', 'is not', null)
      .returning('hash')
      .compile();

  return {
    /**
     * Takes the key, with the room for its answer; or returns its state.
     * @throws GatewayError `idempotency_key_reused`.
     */
    *take(wanted: NewAnswer): Script<{ room: number } | AnswerRow> {
      for (let tries = 0; tries < TRIES; tries += 1) {
        if (yield* isEnded(insert(wanted))) return { room: yield* room(wanted.accountId, wanted.at) };
        const [row] = yield* rowsOf(select(wanted.key.hash));
        if (row && row.fingerprint !== wanted.key.fingerprint) throw keyReused();
        if (row) return row;
        // It was freed between the two statements.
      }
      throw new Error('an idempotency key was taken and freed again and again');
    },

    /** If there is still room: others may have stored answers meanwhile. */
    *keep(work: AnswerWork, { head, bytes, at }: { head: string; bytes: number; at: number }): Script<boolean> {
      if (engine === 'postgres') yield lockNamed(`mediagate answers ${work.accountId}`);
      const isRoom = bytes <= (yield* room(work.accountId, at));
      return isRoom && (yield* isEnded(update(work, { head, bytes })));
    },

    /** The key is free at once. The failure stays for waiting requests, unless the key is taken before. */
    *release(work: AnswerWork, { failure, at }: { failure: string | null; at: number }): Script<void> {
      yield update(work, { failure, expiresAt: at + FAILURE_RETENTION_MS });
    },

    async failureOf(id: string): Promise<string | null> {
      const row = await run((processId) =>
        processId.selectFrom('idempotency_keys').select('failure').where('answerId', '=', id).executeTakeFirst(),
      );
      return row?.failure ?? null;
    },

    /** Those that are still running. */
    async running(ids: readonly string[]): Promise<WorkSeen[]> {
      const rows = await run((processId) =>
        processId
          .selectFrom('idempotency_keys')
          .select(['answerId', 'processId'])
          .where('answerId', 'in', ids)
          .where('processId', 'is not', null)
          .execute(),
      );
      return rows.map(({ answerId, processId }) => ({ id: answerId as string, processId: processId as string }));
    },

    /** The processes that run work. */
    *holders(): Script<readonly string[]> {
      const rows = yield* rowsOf(
        queries
          .selectFrom('idempotency_keys')
          .select('processId')
          .distinct()
          .where('processId', 'is not', null)
          .compile(),
      );
      return rows.map(({ processId }) => processId as string);
    },

    /** Frees the keys of all work of the process. @returns The ids of that work. */
    *freeAllOf(processId: string): Script<string[]> {
      const freed = queries.deleteFrom('idempotency_keys').where('processId', '=', processId).returning('answerId');
      return (yield* rowsOf(freed.compile())).map(({ answerId }) => answerId as string);
    },

    /** Frees the keys of this work, unless it has ended. */
    free: (ids: readonly string[]): Promise<unknown> =>
      run((processId) =>
        processId
          .deleteFrom('idempotency_keys')
          .where('answerId', 'in', ids)
          .where('processId', 'is not', null)
          .execute(),
      ),
  };
}

declare module '../../core/database/tables.js' {
  interface Tables {
    idempotency_keys: IdempotencyKeysTable;
  }
}

export interface IdempotencyKeysTable {
  /** SHA-256 of scope and key in lower-case hex. */
  hash: string;
  /** SHA-256, too. */
  fingerprint: string;
  /** Id of the job that was the answer; empty if there is none. */
  jobId: string;
  expiresAt: number;
  /** The other columns belong to answers that are no jobs; see the top of this file. Null, or 0, for a job. */
  accountId: string | null;
  /** Names the work, and the file of its answer. */
  answerId: string | null;
  /** Id of the process that runs the work; see heartbeat.ts. Null once it has ended. */
  processId: string | null;
  /** JSON: status and headers of the answer. Null in a row of ended work: it was not stored, and the key is free. */
  head: string | null;
  /** JSON: the failure, for requests that wait. */
  failure: string | null;
  /** Bytes of the answer's body. */
  bytes: number;
}

/** The table of the idempotency keys. */
export const idempotencyMigrations: Migrations = {
  '0001-idempotency': sqlMigration(
    `create table idempotency_keys (
      hash text primary key, fingerprint text not null, "jobId" text not null, "expiresAt" bigint not null, "accountId" text,
      "answerId" text, "processId" text, head text, failure text, bytes bigint not null)`,
    `create index idempotency_keys_expires_at on idempotency_keys ("expiresAt")`,
    `create unique index idempotency_keys_answer on idempotency_keys ("answerId") where "answerId" is not null`,
    `create index idempotency_keys_account on idempotency_keys ("accountId", "expiresAt", bytes) where "accountId" is not null`,
    // Polls read what processes hold.
    `create index idempotency_keys_process on idempotency_keys ("processId") where "processId" is not null`,
  ),
};
