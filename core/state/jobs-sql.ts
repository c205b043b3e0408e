import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import type { Clock, Logger } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import { DATABASE_PATIENCE_MS, type Database } from './database.js';
import { databaseAway } from './database-errors.js';
import type { Dispatcher } from './dispatcher.js';
import { hashDedupeKey, toJobRecord, toJson } from './job-rows.js';
import { createJobTable } from './job-table.js';
import { startWorkers } from './job-workers.js';
import type { Acceptance, Accepted, Jobs, JobWorkers } from './jobs.js';
import type { SlotTable } from './slots.js';

/** All acceptances of a kind wait for one lock. More of them at the database would only keep its connections from others. */
const ACCEPTING = 2;
/** Requests that may wait to be accepted at once. */
const MAX_WAITING = 10_000;
/** What a client is told to wait where the queue is full. */
const QUEUE_FULL_RETRY_SECONDS = 5;
/** A third of it goes by between two signs of life. */
const LEASE_MS = 15_000;

export interface JobsOptions {
  database: Database;
  /** The one of the rolling windows: slots that are taken here and there are the same. */
  slots: SlotTable;
  dispatcher: Dispatcher;
  /** What the times of jobs are read from. Default: the database's own clock. */
  clock?: Clock;
  /** Default 15,000. */
  leaseMs?: number;
  logger: Logger;
}

export interface ClosableJobs extends Jobs {
  /** Stops all workers. */
  close(): Promise<void>;
}

/** Durable jobs in SQL. */
export function createJobs({ database, slots, dispatcher, clock, leaseMs, logger }: JobsOptions): ClosableJobs {
  const table = createJobTable(database.engine, clock);
  const accepting = pLimit(ACCEPTING);
  const started = new Set<JobWorkers>();

  async function commit({ slot, job }: Acceptance, input: string, since: number): Promise<Accepted> {
    const { kind, accountId } = job;
    const dedupeHash = hashDedupeKey(job.dedupeKey);
    const patienceMs = DATABASE_PATIENCE_MS - (performance.now() - since);
    if (patienceMs <= 0) throw databaseAway(new Error('Other requests waited for the database before this one.'));
    let queued = false;
    const accepted = await database.transaction(
      async (transaction): Promise<Accepted> => {
        const [answer] = slot ? await slots.take(transaction, [{ ...slot, take: true }]) : [];
        if (answer && !answer.accepted) {
          return { slot: answer, active: await table.countActive(transaction, kind) };
        }
        await table.lockKind(transaction, kind);
        const active = await table.countActive(transaction, kind);
        const joined = await table.findActive(transaction, kind, dedupeHash);
        // Thrown, so that the slot is not taken.
        if (!joined && active >= job.maxActive) throw queueFull();
        const row = joined ?? (await table.insert(transaction, { id: newJobId(), kind, dedupeHash, input }));
        await table.addOwner(transaction, row.id, accountId);
        if (!joined) await dispatcher.announce(transaction, kind);
        queued = !joined;
        return { slot: answer, job: toJobRecord(row), active: joined ? active : active + 1 };
      },
      { patienceMs },
    );
    if (queued) dispatcher.wake(kind);
    return accepted;
  }

  return {
    async accept(acceptance) {
      if (accepting.pendingCount >= MAX_WAITING) {
        throw new GatewayError('upstream_unavailable', 'Too many requests wait for the database.');
      }
      const input = toJson(acceptance.job.input);
      return accepting(commit, acceptance, input, performance.now());
    },
    async find(id, accountId) {
      if (!JOB_ID.test(id)) return undefined;
      const row = await database.run((queries) => table.find(queries, id, accountId));
      return row && toJobRecord(row);
    },
    active: (kind) => database.run((queries) => table.countActive(queries, kind)),
    work(options) {
      const workers = startWorkers({ ...options, database, table, dispatcher, leaseMs: leaseMs ?? LEASE_MS, logger });
      started.add(workers);
      return {
        async stop() {
          await workers.stop();
          started.delete(workers);
        },
      };
    },
    async close() {
      await Promise.all(Array.from(started, (workers) => workers.stop()));
    },
  };
}

/** PostgreSQL does not even look for a text with U+0000 in it. */
const JOB_ID = /^exjob_[0-9a-f]{32}$/;

function newJobId(): string {
  return `exjob_${randomBytes(16).toString('hex')}`;
}

function queueFull(): GatewayError {
  return new GatewayError('queue_full', 'The queue of background jobs is full.', {
    retryAfterSeconds: QUEUE_FULL_RETRY_SECONDS,
  });
}
