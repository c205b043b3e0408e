/*
 * The running requests with an idempotency key and the stored answers of those that ended, in SQL; bodies are files.
 * The one request that takes the key does the work (`answer-table.ts`), and others wait for its end. If a process dies,
 * its keys are free: at once if its death can be determined, else after the lease. A key that was taken or held by a
 * transaction that may have committed without an answer is freed by a poll.
 */

import type { JobFailure, Logger } from '../../core/contracts/index.js';
import { type Database, type DatabaseClock, Doubts, type Instances, isProcessDead } from '../../core/database/index.js';
import { CompletionWaiters, type Dispatcher, toFailure, toJson, type WaitOptions } from '../../core/jobs/index.js';
import {
  createThrottledWarning,
  drawRandomBytes,
  GatewayError,
  isGatewayError,
  type PollLoop,
  startPollLoop,
} from '../../core/runtime/index.js';
import type { AnswerHead } from '../http/index.js';
import { AnswerTable, type AnswerWork, answerFileOf, type WorkSeen } from './answer-table.js';
import { hashKey, type Idempotency } from './idempotency-keys.js';

/** A request with an idempotency key and an answer that is no job. */
export interface AnswerRequest extends Pick<Idempotency, 'scope' | 'key' | 'fingerprint'> {
  /** The account; its answers share a limit. */
  accountId: string;
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

export interface IdempotentResponsesOptions {
  database: Database;
  dispatcher: Dispatcher;
  instances: Instances;
  clock: DatabaseClock;
  /** Milliseconds between two polls of a waiting request. Default 1,000. */
  pollMs?: number;
  logger: Logger;
}

/**
 * The running requests with an idempotency key, and the answers of those that ended. Answers are stored for 24 hours,
 * failures are not. The key of a dead process's work is free (see heartbeat.ts): at once if its death can be
 * determined, else after a lease without a heartbeat. All methods throw GatewayError `upstream_unavailable` if the
 * database does not answer.
 */
export class IdempotentResponses {
  readonly #options: IdempotentResponsesOptions;
  readonly #table: AnswerTable;
  readonly #report: (error: unknown) => void;
  readonly #waits: CompletionWaiters;
  /** Work that this process has ended without writing its row. */
  readonly #doubts: Doubts;
  #polling: PollLoop | undefined;

  constructor(options: IdempotentResponsesOptions) {
    this.#options = options;
    const { database, dispatcher, instances, pollMs, logger } = options;
    const table = new AnswerTable(database);
    this.#table = table;
    this.#report = createThrottledWarning(logger, 'requests with an Idempotency-Key wait for the database');
    const findEnded = (ids: readonly string[]) => this.#findEnded(ids);
    this.#waits = new CompletionWaiters({ findEnded, dispatcher, pollMs, report: this.#report });
    this.#doubts = new Doubts((ids) => table.free(ids));
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
  }

  /** @throws GatewayError `idempotency_key_reused` if the key belongs to a different request. */
  async claim({ accountId, ...idempotency }: AnswerRequest): Promise<AnswerClaim> {
    const { database, instances, clock } = this.#options;
    const table = this.#table;
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
        if (isGatewayError(error) && error.code === 'upstream_unavailable') this.#doubt(id);
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
  }

  /**
   * The work has ended with an answer; its body is in its file. False if it is not stored: the account has no room for
   * it, or the work was considered dead. Then the next request with the key is a new one.
   */
  keep(work: AnswerWork, { status, headers, bytes }: AnswerHead & { bytes: number }): Promise<boolean> {
    const { database, dispatcher, clock } = this.#options;
    const table = this.#table;
    return this.#end(work, () =>
      database.script(function* () {
        const at = yield* clock.readScript();
        const isStorable = yield* table.keep(work, { head: toJson({ status, headers }), bytes, at });
        if (!isStorable) yield* table.release(work, { failure: null, at });
        yield* dispatcher.announceEnds([work.id]);
        return isStorable;
      }),
    );
  }

  /**
   * The work has ended without a stored answer. The next request is a new one; waiting requests receive the failure, if
   * any.
   */
  release(work: AnswerWork, failure?: GatewayError): Promise<void> {
    const { database, dispatcher, clock } = this.#options;
    const table = this.#table;
    return this.#end(work, () =>
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
    );
  }

  /** Resolves when the work has ended or the time is over, with the failure of the work. */
  async waitFor(id: string, { timeoutMs, signal }: WaitOptions): Promise<GatewayError | undefined> {
    signal?.throwIfAborted();
    const wait = this.#waits.begin(id);
    try {
      if ((await this.#running([id])).length > 0) await wait.over(timeoutMs, signal);
    } finally {
      wait.stop();
    }
    const failure = await this.#table.failureOf(id);
    return failure === null ? undefined : toError(JSON.parse(failure));
  }

  async close(): Promise<void> {
    await this.#polling?.stop();
    await this.#waits.stop();
  }

  /** In any case this process has ended the work. */
  async #end<Result>(work: AnswerWork, write: () => Promise<Result>): Promise<Result> {
    try {
      return await write();
    } catch (error) {
      this.#doubt(work.id);
      throw error;
    } finally {
      this.#options.dispatcher.ended(work.id);
    }
  }

  #doubt(id: string): void {
    const intervalMs = this.#options.instances.leaseMs / 3;
    this.#doubts.add(id);
    this.#polling ??= startPollLoop({ intervalMs, work: () => this.#doubts.settle(), report: this.#report });
  }

  async #findEnded(ids: readonly string[]): Promise<string[]> {
    const alive = new Set((await this.#running(ids)).map(({ id }) => id));
    return ids.filter((id) => !alive.has(id));
  }

  /** Those that are still running. The work of an ended process is free at once. */
  async #running(ids: readonly string[]): Promise<WorkSeen[]> {
    const found = await this.#table.running(ids);
    if (!found.some(({ processId }) => isProcessDead(processId))) return found;
    await this.#options.instances.check();
    return this.#table.running(ids);
  }
}

function toError({ code, message, ...details }: JobFailure): GatewayError {
  return new GatewayError(code, message, details);
}
