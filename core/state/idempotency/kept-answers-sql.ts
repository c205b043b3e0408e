import type { Logger } from '../../contracts/services.js';
import type { Database } from '../../database/index.js';
import {
  createBeats,
  createRareWarning,
  hasEnded,
  nameRunner,
  type Rounds,
  startRounds,
} from '../../database/index.js';
import type { Dispatcher } from '../../jobs/dispatcher.js';
import { createEndWaits } from '../../jobs/end-waits.js';
import type { JobClock } from '../../jobs/job-clock.js';
import { toFailure, toJson } from '../../jobs/job-rows.js';
import type { JobFailure } from '../../jobs/jobs.js';
import { drawRandomBytes, GatewayError } from '../../runtime/index.js';
import { hashKey } from './idempotency-keys.js';
import { createAnswerTable } from './kept-answer-table.js';
import { type AnswerHead, type AnswerWork, answerFileOf, type KeptAnswers } from './kept-answers.js';

/** A third of it goes by between two signs of life. */
const LEASE_MS = 15_000;

export interface KeptAnswersOptions {
  database: Database;
  dispatcher: Dispatcher;
  clock: JobClock;
  /** Default 15,000. */
  leaseMs?: number;
  /** Milliseconds after which those who wait look by themselves. Default 1,000. */
  pollMs?: number;
  logger: Logger;
}

export interface ClosableKeptAnswers extends KeptAnswers {
  close(): Promise<void>;
}

/*
 * As with jobs (see job-leases.ts), work that goes on counts its row's `beat` up. Nobody but those who wait for it needs to
 * know whether it is alive, so it is they who look, and free the key of work that is dead.
 */

/** Answers in the table of the idempotency keys. */
export function createKeptAnswers(options: KeptAnswersOptions): ClosableKeptAnswers {
  const { database, dispatcher, clock, leaseMs = LEASE_MS, pollMs, logger } = options;
  const table = createAnswerTable(database);
  const report = createRareWarning(logger, 'requests with an Idempotency-Key wait for the database');
  const runner = nameRunner();
  /** What this process is at. */
  const working = new Set<string>();
  const beats = createBeats(leaseMs);
  const waits = createEndWaits({ findEnded, dispatcher, pollMs, report });
  let rounds: Rounds | undefined;

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
      rounds ??= startRounds({ intervalMs: leaseMs / 3, work: beat, report });
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
          const isKept = yield* table.keep(work, { head: toJson({ status, headers }), bytes, at });
          if (!isKept) yield* table.release(work, { failure: null, at });
          yield* dispatcher.announceEnds([work.id]);
          return isKept;
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
