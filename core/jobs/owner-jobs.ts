/*
 * Deletes and reads all jobs of an owner, for the erasure or export of what belongs to it. A job that others joined
 * stays for them, under the first of them. Active jobs are cancelled, then ended ones are deleted in batches: files
 * first and rows last, so interrupted work is repeated from the rows that are left. Jobs are read five at a time, since
 * their results may be large.
 */

import type { Storage } from '../contracts/index.js';
import {
  type Database,
  type Kysely,
  type SelectQueryBuilder,
  sql,
  type Tables,
  type Transaction,
} from '../database/index.js';
import { isGatewayError } from '../runtime/index.js';
import type { Jobs } from './jobs.js';
import { filesOfJob, kindOfJob } from './kinds.js';
import { ACTIVE, ownedBy } from './statements.js';

const ROWS = 50;
const READ_ROWS = 500;
/** Results of jobs may be large. */
const READ_JOBS = 5;

/** Ids of the jobs that an owner submitted or joined. */
export function selectJobsOf(
  queries: Kysely<Tables>,
  owner: string,
): SelectQueryBuilder<Tables, 'jobs', { id: string }> {
  return queries.selectFrom('jobs').select('id').where(ownedBy(owner));
}

export interface JobErasure {
  owner: string;
  files: Pick<Storage, 'delete'>;
  /** Ends the work between two batches. */
  signal?: AbortSignal;
}

/** Cancels and deletes the jobs of an owner, with their files. May be repeated. */
export async function eraseJobs(database: Database, jobs: Pick<Jobs, 'cancel'>, erasure: JobErasure): Promise<void> {
  await cancelJobs(database, jobs, erasure);
  await deleteJobs(database, erasure);
  const { owner } = erasure;
  await database.run((queries) =>
    queries
      .deleteFrom('job_owners')
      .where('owner', '=', owner)
      .where('jobId', 'in', (ended) =>
        ended.selectFrom('jobs').select('id').where(sql<boolean>`"finishedAt" is not null`),
      )
      .execute(),
  );
}

async function cancelJobs(
  database: Database,
  jobs: Pick<Jobs, 'cancel'>,
  { owner, signal }: JobErasure,
): Promise<void> {
  const ids = await database.run((queries) => selectJobsOf(queries, owner).where(sql<boolean>`${ACTIVE}`).execute());
  for (const { id } of ids) {
    signal?.throwIfAborted();
    await jobs.cancel(id, owner).catch((error: unknown) => {
      if (!isGatewayError(error) || error.code !== 'job_already_terminal') throw error;
    });
  }
}

async function deleteJobs(database: Database, { owner, files, signal }: JobErasure): Promise<void> {
  for (let full = true; full; ) {
    signal?.throwIfAborted();
    const rows = await database.run((queries) =>
      queries
        .selectFrom('jobs')
        .select(['id', 'kind', 'summary', 'result'])
        .where('owner', '=', owner)
        .where(sql<boolean>`"finishedAt" is not null`)
        .limit(ROWS)
        .execute(),
    );
    const names = rows.flatMap(({ kind, summary, result }) => filesOfJob(kind, JSON.parse(summary), parse(result)));
    await Promise.all(names.map((name) => files.delete(name)));
    await database.transaction(async (transaction) => {
      for (const { id } of rows) await leaveOrDelete(transaction, id);
    });
    full = rows.length === ROWS;
  }
}

/** Deletes an ended job of an owner. Does nothing if there is none. */
export async function deleteJob(database: Database, id: string, owner: string): Promise<void> {
  if (!kindOfJob(id)) return;
  await database.transaction(async (transaction) => {
    const found = await transaction
      .selectFrom('jobs')
      .select('owner')
      .where('id', '=', id)
      .where(ownedBy(owner))
      .where(sql<boolean>`"finishedAt" is not null`)
      .executeTakeFirst();
    if (found?.owner === owner) await leaveOrDelete(transaction, id);
    else if (found) await leave(transaction, id, owner);
  });
}

async function leave(transaction: Transaction<Tables>, id: string, owner: string): Promise<void> {
  await transaction.deleteFrom('job_owners').where('jobId', '=', id).where('owner', '=', owner).execute();
}

/** A job that others joined stays for them, under the first of them. */
async function leaveOrDelete(transaction: Transaction<Tables>, id: string): Promise<void> {
  const heir = await transaction
    .selectFrom('job_owners')
    .select('owner')
    .where('jobId', '=', id)
    .orderBy('owner')
    .limit(1)
    .executeTakeFirst();
  if (!heir) {
    await transaction.deleteFrom('jobs').where('id', '=', id).execute();
    return;
  }
  await transaction
    .updateTable('jobs')
    .set({ owner: heir.owner, keyId: '', requestId: null })
    .where('id', '=', id)
    .execute();
  await leave(transaction, id, heir.owner);
}

/** Everything stored of the jobs of an owner: active, ended and joined ones. */
export async function* readJobs(database: Database, owner: string) {
  for await (const ids of batches(readIds(database, owner), READ_JOBS)) {
    const rows = await database.run((queries) =>
      queries
        .selectFrom('jobs')
        .select(['id', 'kind', 'state', 'owner', 'attempts', 'createdAt', 'startedAt', 'finishedAt'])
        .select(['summary', 'input', 'result', 'error', 'webhookUrl'])
        .where('id', 'in', ids)
        .execute(),
    );
    for (const { owner: first, summary, input, result, error, webhookUrl, ...row } of rows) {
      const isOwn = first === owner;
      yield {
        ...row,
        summary: parse(summary),
        // It is cleared when the job has ended. That of a joined job is another owner's.
        input: isOwn ? parse(input) : null,
        result: parse(result),
        error: parse(error),
        webhookUrl: isOwn ? webhookUrl : null,
      };
    }
  }
}

async function* readIds(database: Database, owner: string): AsyncGenerator<string> {
  const own = (queries: Kysely<Tables>) =>
    queries.selectFrom('jobs').select(['id', 'createdAt']).where('owner', '=', owner);
  for (const { id } of await database.run((queries) => own(queries).where(sql<boolean>`${ACTIVE}`).execute())) yield id;
  let after = { createdAt: 0, id: '' };
  for (let full = true; full; ) {
    const { createdAt, id: last } = after;
    const rows = await database.run((queries) =>
      own(queries)
        .where(sql<boolean>`"finishedAt" is not null`)
        .where(sql<boolean>`("createdAt", id) > (${createdAt}, ${last})`)
        .orderBy('createdAt')
        .orderBy('id')
        .limit(READ_ROWS)
        .execute(),
    );
    for (const { id } of rows) yield id;
    after = rows.at(-1) ?? after;
    full = rows.length === READ_ROWS;
  }
  const joined = await database.run((queries) =>
    queries.selectFrom('job_owners').select('jobId').where('owner', '=', owner).execute(),
  );
  for (const { jobId } of joined) yield jobId;
}

async function* batches<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function parse(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
