/*
 * Retries of failed jobs by operators. An ended job stays as it is, since an end is final for its owners and what it
 * cost is settled: the retry is a new job of the same owners, with the same work and key, and the two name each other.
 * It is accepted beside the admission hooks, so it takes nothing of a rate limit, a quota, a budget or a balance, and
 * its end settles nothing. The webhook of the failed job, if it had one, is sent for its end too. A job is retried once; if the retry fails, the retry can be retried. The input of a failed
 * job, and the address of its webhook, are kept for that, as long as its kind declares, and then cleared by the sweep. Kinds that keep none are not
 * retried.
 */

import type { JobState } from '../contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  type Kysely,
  runScript,
  type Script,
  sql,
  type Tables,
} from '../database/index.js';
import { GatewayError } from '../runtime/index.js';
import { type FairQueueStatements, openFairQueue } from './accept.js';
import { canRetry, type JobKind, jobKinds, kindOfJob, newJobId, retryMs } from './kinds.js';
import type { JobRecord } from './records.js';
import { type JobRow, type JobTable, NEW_JOB, type NewJobRow, NOT_JOINED, toJobRecord } from './statements.js';

export interface JobRetry {
  id: string;
  /** Id of the operator's request, for log lines about the new job. Default: none. */
  requestId?: string;
  /** Runs in the transaction that accepts the new job, e.g. to write the audit log. What it throws refuses the retry. */
  alsoWrite?(change: RetryChange): Script<void>;
}

export interface RetryChange {
  /** The failed job. */
  id: string;
  /** The owner who submitted it. */
  owner: string;
  /** The new one. */
  newId: string;
  /** Milliseconds since 1970. */
  at: number;
}

export interface RetryOptions {
  database: Database;
  table: JobTable;
  clock: DatabaseClock;
  statementsOf(kind: JobKind): FairQueueStatements;
  /** Wakes workers for the new job, in the transaction. */
  announce(kind: JobKind): Script<void>;
}

/**
 * Accepts the work of a failed job again. Undefined if there is no such job.
 * @throws GatewayError `job_not_retryable`.
 */
export async function retryJob(retry: JobRetry, options: RetryOptions): Promise<JobRecord | undefined> {
  const { id, requestId = null, alsoWrite } = retry;
  const { database, table, clock, statementsOf, announce } = options;
  const kind = kindOfJob(id);
  if (!kind) return undefined;
  return database.transaction(async (transaction) => {
    // Two retries of a job wait for each other.
    await runScript(transaction, table.lockKind(kind));
    const failed = await transaction.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst();
    if (!failed) return undefined;
    const at = await clock.read(transaction);
    const refusal = refusalOf(failed, at);
    if (refusal !== undefined) throw new GatewayError('job_not_retryable', refusal, { param: 'id' });
    const { keyId, queueGroup, rank, summary, input, owner, webhookUrl } = failed;
    const row: NewJobRow = {
      ...NEW_JOB,
      ...{ id: newJobId(kind, at), kind, dedupeHash: NOT_JOINED, priority: 0, rank, summary, input },
      ...{ keyId, queueGroup, owner, admission: null, createdAt: at, requestId, traceparent: null, webhookUrl },
    };
    const { id: newId } = row;
    const queue = await runScript(transaction, openFairQueue(statementsOf(kind), [{ queueGroup, keyId }]));
    queue.add(row);
    await runScript(transaction, queue.assign());
    await runScript(transaction, table.insert(kind, [row]));
    await transaction.updateTable('jobs').set({ retryOf: id }).where('id', '=', newId).execute();
    await transaction
      .updateTable('jobs')
      .set({ retriedAs: newId, ...CLEARED })
      .where('id', '=', id)
      .execute();
    const joined = await transaction.selectFrom('job_owners').select('owner').where('jobId', '=', id).execute();
    await runScript(transaction, table.addOwners(joined.map((other) => ({ ...other, jobId: newId }))));
    if (alsoWrite) await runScript(transaction, alsoWrite({ id, owner, newId, at }));
    await runScript(transaction, announce(kind));
    return toJobRecord(row);
  });
}

const WORDS: Readonly<Record<Exclude<JobState, 'failed'>, string>> = {
  queued: 'This job waits in the queue',
  running: 'This job is running',
  completed: 'This job has completed',
  cancelled: 'This job was cancelled',
};

type Retried = Pick<JobRow, 'kind' | 'state' | 'summary' | 'input' | 'finishedAt' | 'retriedAs'>;

export function isRetryable(job: Retried, at: number): boolean {
  return refusalOf(job, at) === undefined;
}

/** Why a job cannot be retried. */
function refusalOf({ kind, state, summary, input, finishedAt, retriedAs }: Retried, at: number): string | undefined {
  if (state !== 'failed') return `${WORDS[state]}: only a failed job can be retried.`;
  if (retriedAs !== null) return `This job was retried already, as ${retriedAs}.`;
  const storedMs = retryMs(kind);
  if (storedMs === 0) {
    const kinds = jobKinds().filter((each) => retryMs(each) > 0);
    return `Jobs of kind ${kind} cannot be retried, only those of ${kinds.join(' and ')}.`;
  }
  if (!canRetry(kind, JSON.parse(summary))) {
    return 'The files of its request were deleted when it ended: its owner submits it again.';
  }
  if (input !== 'null' && finishedAt !== null && finishedAt > at - storedMs) return undefined;
  return `What it was asked for was kept for ${storedMs / 3_600_000} hours, which are over.`;
}

/** Kinds whose failed jobs keep their input; a literal, since a statement is compiled once. */
export function keepsInput() {
  const kinds = jobKinds().filter((kind) => retryMs(kind) > 0);
  return kinds.length === 0
    ? sql<boolean>`1 = 0`
    : sql<boolean>`kind in (${sql.join(kinds.map((kind) => sql.lit(kind)))})`;
}

/** Addresses of webhooks may contain credentials; one that is still due is cleared when it was delivered. */
const CLEARED = {
  input: 'null',
  webhookUrl: sql<string | null>`case when "webhookDueAt" is null then null else "webhookUrl" end`,
};

/** Clears inputs that are kept no longer. Returns how many. @param at The current time. */
export async function clearInputs(
  queries: Kysely<Tables>,
  { kind, at, limit }: { kind: JobKind; at: number; limit: number },
): Promise<number> {
  const { numUpdatedRows } = await queries
    .updateTable('jobs')
    .set(CLEARED)
    .where('id', 'in', (old) =>
      old
        .selectFrom('jobs')
        .select('id')
        .where(WITH_INPUT)
        .where('kind', '=', kind)
        .where('finishedAt', '<=', at - retryMs(kind))
        .limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** Repeats the condition of the index word for word, since it is used only then. */
const WITH_INPUT = sql<boolean>`"finishedAt" is not null and input <> 'null'`;
