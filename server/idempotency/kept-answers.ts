import type { JobFailure, Logger } from '../../core/contracts/index.js';
import { createHeartbeat, type Database, type DatabaseClock, hasEnded, processId } from '../../core/database/index.js';
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
import { hashKey, type Idempotency } from './idempotency-keys.js';
import { createAnswerTable } from './kept-answer-table.js';

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
 * As with jobs (see job-leases.ts), work that goes on counts its row's `beat` up. Nobody but those who wait for it needs to
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
        if (taken.answer_id === null) throw new Error('an idempotency key of an answer is that of a job');
        if (taken.runner !== null) return { state: 'running', id: taken.answer_id };
        const head = JSON.parse(taken.head ?? '') as AnswerHead;
        return { state: 'answered', answer: { ...head, file: answerFileOf({ id: taken.answer_id }) } };
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
