import type { JobFailure, Logger } from '../../core/contracts/index.js';
import {
  type CompiledQuery,
  createHeartbeat,
  type Database,
  type DatabaseClock,
  hasEnded,
  lockNamed,
  type Migrations,
  processId,
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
  type PollLoop,
  startPollLoop,
} from '../../core/runtime/index.js';
import type { AnswerHead } from '../http/index.js';
import { hashKey, type Idempotency, type KeyHash, keyReused } from './idempotency-keys.js';

/** A request with an idempotency key whose answer is no job. */
export interface AnswerRequest extends Pick<Idempotency, 'scope' | 'key' | 'fingerprint'> {
  /** Whose answers are counted together. */
  accountId: string;
}

/** The work of the one request of its key that does it. */
export interface AnswerWork {
  /** `answer_` and 128 random bits in hex; also names the file that the body is to be kept in, {@link answerFileOf}. */
  readonly id: string;
  /** Of scope and key. */
  readonly hash: string;
  readonly accountId: string;
  /** Milliseconds since 1970: until then the answer is given again. */
  readonly expiresAt: number;
  /** Bytes that its body may have, by what the account has kept already; 0 where nothing more is kept. */
  readonly room: number;
}

export interface IdempotentResponse extends AnswerHead {
  /** File of its body. */
  file: string;
}

export type AnswerClaim =
  /** The caller is to do the work, and to say how it ended. */
  | { state: 'begun'; work: AnswerWork }
  /** Somebody else does it. */
  | { state: 'running'; id: string }
  | { state: 'answered'; answer: IdempotentResponse };

/**
 * Which requests with an idempotency key are at work, and what those that have ended were answered with. Answers are
 * remembered for 24 hours, failures are not. The work of a process that died belongs to whoever asks next: at once where its
 * end can be told, else after a lease without a sign of life. All throw GatewayError `upstream_unavailable` where the database
 * does not answer.
 */
export interface IdempotentResponses {
  /** @throws GatewayError `idempotency_key_reused` where the key is that of another request. */
  claim(request: AnswerRequest): Promise<AnswerClaim>;
  /**
   * The work has ended with an answer, whose body is in its file. False where it is not kept: the account has no room for it,
   * or the work was taken for dead. Then the next request with the key is a new one.
   */
  keep(work: AnswerWork, answer: AnswerHead & { bytes: number }): Promise<boolean>;
  /** The work has ended, and its answer is not kept. The next request is a new one; those that wait get the failure, if any. */
  release(work: AnswerWork, failure?: GatewayError): Promise<void>;
  /** Resolves when the work has ended or the time is over, with the failure that it ended with. */
  waitFor(id: string, options: WaitOptions): Promise<GatewayError | undefined>;
}

/** Name of the file that the answer of a work is kept in. */
export function answerFileOf({ id }: Pick<AnswerWork, 'id'>): string {
  return `${id}.bin`;
}

/** A third of it goes by between two signs of life. */
const LEASE_MS = 15_000;

export interface IdempotentResponsesOptions {
  database: Database;
  dispatcher: Dispatcher;
  clock: DatabaseClock;
  /** Default 15,000. */
  leaseMs?: number;
  /** Milliseconds after which those who wait look by themselves. Default 1,000. */
  pollMs?: number;
  logger: Logger;
}

export interface ClosableIdempotentResponses extends IdempotentResponses {
  close(): Promise<void>;
}

/*
 * As with jobs (see job-claims.ts), work that goes on counts its row's `beat` up. Nobody but those who wait for it needs to
 * know whether it is alive, so it is they who look, and free the key of work that is dead.
 */

/** Answers in the table of the idempotency keys. */
export function createIdempotentResponses(options: IdempotentResponsesOptions): ClosableIdempotentResponses {
  const { database, dispatcher, clock, leaseMs = LEASE_MS, pollMs, logger } = options;
  const table = createAnswerTable(database);
  const report = createThrottledWarning(logger, 'requests with an Idempotency-Key wait for the database');
  const runner = processId();
  /** What this process is at. */
  const working = new Set<string>();
  const beats = createHeartbeat(leaseMs);
  const waits = createCompletionWaiters({ findEnded, dispatcher, pollMs, report });
  let rounds: PollLoop | undefined;

  async function findEnded(ids: readonly string[]): Promise<string[]> {
    const running = await table.running(ids);
    const isSilent = beats.look();
    const alive = new Set<string>();
    for (const work of running) {
      if (isSilent(work.id, `${work.beat}`) || hasEnded(work.runner)) await table.free(work);
      else alive.add(work.id);
    }
    return ids.filter((id) => !alive.has(id));
  }

  /** Without waiting for a lease. */
  async function goesOn(id: string): Promise<boolean> {
    const [work] = await table.running([id]);
    if (!work || !hasEnded(work.runner)) return work !== undefined;
    await table.free(work);
    return false;
  }

  async function beat(): Promise<void> {
    if (working.size > 0) await table.beat([...working]);
  }

  /** Whatever comes of it, this process is at it no longer: a row that could not be written goes with its lease. */
  async function end<Result>(work: AnswerWork, write: () => Promise<Result>): Promise<Result> {
    try {
      return await write();
    } finally {
      working.delete(work.id);
      dispatcher.ended(work.id);
    }
  }

  return {
    async claim({ accountId, ...idempotency }) {
      const key = hashKey(idempotency);
      const id = `answer_${drawRandomBytes(16).toString('hex')}`;
      rounds ??= startPollLoop({ intervalMs: leaseMs / 3, work: beat, report });
      // Before the database has it: else it would show no sign of life.
      working.add(id);
      let isTaken = false;
      try {
        const { taken, at } = await database.script(
          function* () {
            const now = yield* clock.look();
            return { at: now, taken: yield* table.take({ key, id, accountId, runner, at: now }) };
          },
          { survives: 'process-end' },
        );
        if ('room' in taken) {
          isTaken = true;
          const { room } = taken;
          return { state: 'begun', work: { id, hash: key.hash, accountId, expiresAt: at + key.keptMs, room } };
        }
        if (taken.answerId === null) throw new Error('an idempotency key of an answer is that of a job');
        if (taken.runner !== null) return { state: 'running', id: taken.answerId };
        const head = JSON.parse(taken.head ?? '') as AnswerHead;
        return { state: 'answered', answer: { ...head, file: answerFileOf({ id: taken.answerId }) } };
      } finally {
        if (!isTaken) working.delete(id);
      }
    },

    keep: (work, { status, headers, bytes }) =>
      end(work, () =>
        database.script(function* () {
          const at = yield* clock.look();
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
            // That this process is ending is no answer: whoever waits elsewhere takes the work.
            const isTold = failure !== undefined && failure.code !== 'shutting_down';
            const told = isTold ? toJson(toFailure(failure)) : null;
            yield* table.release(work, { failure: told, at: yield* clock.look() });
            yield* dispatcher.announceEnds([work.id]);
          },
          { survives: 'process-end' },
        ),
      ),

    async waitFor(id, { timeoutMs, signal }) {
      signal?.throwIfAborted();
      const wait = waits.begin(id);
      try {
        if (await goesOn(id)) await wait.over(timeoutMs, signal);
      } finally {
        wait.stop();
      }
      const failure = await table.failureOf(id);
      return failure === null ? undefined : toError(JSON.parse(failure));
    },

    async close() {
      await rounds?.stop();
      await waits.stop();
    },
  };
}

function toError({ code, message, ...details }: JobFailure): GatewayError {
  return new GatewayError(code, message, details);
}

/** Answers of one account that are remembered at the same time, those at work included. */
const MOST_ANSWERS = 10_000;
/** Their bytes. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Milliseconds that those who wait have for hearing of a failure. */
const TOLD_MS = 60_000;
const FREE = sql<boolean>`(idempotency_keys."answerId" is not null and idempotency_keys.runner is null
  and idempotency_keys.head is null)`;
/** A key that somebody frees again and again while it is asked for is in more hands than its client can have. */
const TRIES = 5;

/** What is known of a key whose work is not the caller's. */
export type AnswerRow = Pick<IdempotencyKeysTable, 'answerId' | 'runner' | 'head'>;

export interface NewAnswer {
  key: KeyHash;
  id: string;
  accountId: string;
  runner: string;
  at: number;
}

/** Work as others see it. */
export type WorkSeen = { id: string; runner: string; beat: number };

export type AnswerTable = ReturnType<typeof createAnswerTable>;

/** The statements on keys whose answer is no job. Each that ends work names it, so that it ends once. */
export function createAnswerTable({ engine, queries, run }: Database) {
  /** A row that is free, or whose time is over, is as good as none: the one statement that takes a key decides who does the work. */
  function insert({ key, id, accountId, runner, at }: NewAnswer): CompiledQuery<{ hash: string }> {
    const row = {
      fingerprint: key.fingerprint,
      jobId: '',
      expiresAt: at + key.keptMs,
      accountId,
      answerId: id,
      runner,
      beat: 0,
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
      .select(['fingerprint', 'answerId', 'runner', 'head'])
      .where('hash', '=', hash)
      .compile();
  }

  /** Bytes that are free for one more answer of the account. */
  function* room(accountId: string, at: number): Script<number> {
    const [kept] = yield* rowsOf(
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
    const { count, bytes } = kept as { count: number; bytes: number };
    return count > MOST_ANSWERS ? 0 : Math.max(0, MOST_BYTES - bytes);
  }

  function* isEnded(end: CompiledQuery<{ hash: string }>): Script<boolean> {
    return (yield* rowsOf(end)).length > 0;
  }

  const update = ({ hash, id }: AnswerWork, set: Partial<IdempotencyKeysTable>) =>
    queries
      .updateTable('idempotency_keys')
      .set({ runner: null, ...set })
      .where('hash', '=', hash)
      .where('answerId', '=', id)
      .where('runner', 'is not', null)
      .returning('hash')
      .compile();

  return {
    /**
     * Takes the key, with the room that there is for its answer; or what is known of it.
     * @throws GatewayError `idempotency_key_reused`.
     */
    *take(wanted: NewAnswer): Script<{ room: number } | AnswerRow> {
      for (let tries = 0; tries < TRIES; tries += 1) {
        if (yield* isEnded(insert(wanted))) return { room: yield* room(wanted.accountId, wanted.at) };
        const [row] = yield* rowsOf(select(wanted.key.hash));
        if (row && row.fingerprint !== wanted.key.fingerprint) throw keyReused();
        if (row) return row;
        // It was freed between the two.
      }
      throw new Error('an idempotency key was taken and freed again and again');
    },

    /** Where there is still room: others may have been kept meanwhile. */
    *keep(work: AnswerWork, { head, bytes, at }: { head: string; bytes: number; at: number }): Script<boolean> {
      if (engine === 'postgres') yield lockNamed(`mediagate answers ${work.accountId}`);
      const isRoom = bytes <= (yield* room(work.accountId, at));
      return isRoom && (yield* isEnded(update(work, { head, bytes })));
    },

    /** The key is free at once. The failure stays for those who wait, unless somebody takes the key before. */
    *release(work: AnswerWork, { failure, at }: { failure: string | null; at: number }): Script<void> {
      yield update(work, { failure, expiresAt: at + TOLD_MS });
    },

    async failureOf(id: string): Promise<string | null> {
      const row = await run((runner) =>
        runner.selectFrom('idempotency_keys').select('failure').where('answerId', '=', id).executeTakeFirst(),
      );
      return row?.failure ?? null;
    },

    /** Those of them that are under way. */
    async running(ids: readonly string[]): Promise<WorkSeen[]> {
      const rows = await run((runner) =>
        runner
          .selectFrom('idempotency_keys')
          .select(['answerId', 'runner', 'beat'])
          .where('answerId', 'in', ids)
          .where('runner', 'is not', null)
          .execute(),
      );
      return rows.map(({ answerId, runner, beat }) => ({ id: answerId as string, runner: runner as string, beat }));
    },

    /** Unless it has shown life meanwhile. */
    free: ({ id, beat }: WorkSeen): Promise<unknown> =>
      run((runner) =>
        runner
          .deleteFrom('idempotency_keys')
          .where('answerId', '=', id)
          .where('beat', '=', beat)
          .where('runner', 'is not', null)
          .execute(),
      ),

    beat: (ids: readonly string[]): Promise<unknown> =>
      run((runner) =>
        runner
          .updateTable('idempotency_keys')
          .set(({ eb }) => ({ beat: eb('beat', '+', 1) }))
          .where('answerId', 'in', ids)
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
  /** Of the job that was the answer; empty where there is none. */
  jobId: string;
  expiresAt: number;
  /** The rest is of answers that are not jobs; see the top of this file. Null, or 0, where a job is. */
  accountId: string | null;
  /** Names the work that makes the answer, and the file that keeps it. */
  answerId: string | null;
  /** Who is at that work; see heartbeat.ts. Null once it has ended. */
  runner: string | null;
  /** Goes up while the work goes on. */
  beat: number;
  /** JSON: what the answer begins with. Null in a row of work that has ended: it was not kept, and the key is free. */
  head: string | null;
  /** JSON: why there is no answer, for those who wait for it. */
  failure: string | null;
  /** Of the answer's body. */
  bytes: number;
}

/** The table of the idempotency keys. */
export const idempotencyMigrations: Migrations = {
  '0001-idempotency': sqlMigration(
    `create table idempotency_keys (
      hash text primary key, fingerprint text not null, "jobId" text not null, "expiresAt" bigint not null, "accountId" text,
      "answerId" text, runner text, beat integer not null, head text, failure text, bytes bigint not null)`,
    `create index idempotency_keys_expires_at on idempotency_keys ("expiresAt")`,
    `create unique index idempotency_keys_answer on idempotency_keys ("answerId") where "answerId" is not null`,
    `create index idempotency_keys_account on idempotency_keys ("accountId", "expiresAt", bytes) where "accountId" is not null`,
  ),
};
