/*
 * The links of batches in SQL. A link gets its row when it starts, in the transaction that takes its request of the rate
 * limit and holds its money; its end is one transaction with its charge. So a crash neither loses a link nor charges one
 * twice: a link that has started and not ended runs again without a further request, and each run has a number, so an
 * earlier run ends nothing. Links start in the order of the batch, so its rows are always the first ones. Results are
 * compressed, and hold nothing that expires before the batch does.
 */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { JobFailure, StoredResult } from '../../core/contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  GroupCommit,
  type Kysely,
  rowsOf,
  runScript,
  type Script,
  sql,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { type EndedJob, type JobRun, toJson } from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import type { TranscriptAnswer } from '../transcripts/index.js';
import type { ChargedLink, LinkCharges } from '../usage/index.js';
import type { BatchInput } from './batch-jobs.js';

/** A link that runs. */
export interface BegunLink {
  jobId: string;
  /** Position in the batch, from 0. */
  position: number;
  url: string;
  /** Platform key; empty for a link of no platform. */
  platform: string;
  /** Number of its run, from 1. */
  attempts: number;
}

export interface BeginInput {
  run: Pick<JobRun, 'id' | 'attempts'>;
  input: BatchInput;
  key: ApiKeyRecord;
  /** Links that may start. */
  max: number;
  /** Positions that run here, if links that an earlier run began are wanted as well. */
  running?: readonly number[] | undefined;
  platformOf(url: string): string;
}

export interface Begun {
  links: readonly BegunLink[];
  /** Whether every link of the batch has started. */
  isLast: boolean;
  /** Milliseconds until the rate limit has room, if it had none. */
  waitMs?: number;
}

/** What is stored of a link that was extracted. */
export interface StoredLink {
  result: StoredResult;
  /** Its transcript, if the batch asks for them. */
  words?: TranscriptAnswer;
}

export interface LinkEnd {
  link: BegunLink;
  /** Who pays. */
  input: Pick<BatchInput, 'keyId' | 'accountId'>;
  outcome: (StoredLink & { method: string }) | { error: JobFailure };
}

/** A link that has ended. */
export interface EndedLink extends Pick<BegunLink, 'position' | 'url' | 'platform' | 'attempts'> {
  outcome: StoredLink | { error: JobFailure };
}

export interface BatchProgress {
  started: number;
  completed: number;
  failed: number;
}

/** An end and its columns. */
interface StoredEnd {
  end: LinkEnd;
  row: { state: 'completed'; result: string } | { state: 'failed'; error: string };
}

const COUNTS = ['started', 'completed', 'failed'] as const;

export interface BatchLinksOptions {
  database: Database;
  times: DatabaseClock;
  charges: LinkCharges;
}

export class BatchLinks {
  readonly #options: BatchLinksOptions;
  readonly #ends: GroupCommit<StoredEnd, boolean>;

  constructor(options: BatchLinksOptions) {
    this.#options = options;
    const script = (ends: readonly StoredEnd[]) => this.#endGroup(ends);
    this.#ends = new GroupCommit({ database: options.database, script });
  }

  /**
   * Begins the next links, as many as the key may send now.
   * @throws GatewayError `cancelled` if the batch has ended or runs elsewhere, `insufficient_quota`.
   */
  begin({ run, input, key, max, running, platformOf }: BeginInput): Promise<Begun> {
    const { database, times, charges } = this.#options;
    const { urls } = input;
    return database.transaction(async (transaction) => {
      await this.#hold(transaction, run);
      const now = await times.read(transaction);
      const again = running ? await beginAgain(transaction, run.id, { running, max, now }) : [];
      const next = await countStarted(transaction, run.id);
      const links = urls
        .slice(next, next + max - again.length)
        .map((url, index) => ({ jobId: run.id, position: next + index, url, platform: platformOf(url), attempts: 1 }));
      if (links.length === 0) return { links: again, isLast: next >= urls.length };
      const admitted = await runScript(
        transaction,
        charges.admit(
          key,
          links.map(({ platform }) => platform),
        ),
      );
      if (admitted.refusal && again.length === 0) throw admitted.refusal;
      const begun = links.slice(0, admitted.held.length);
      const rows = begun.map((link, index) => ({
        ...link,
        url: toJson(link.url),
        ...{ state: 'started' as const, startedAt: now, endedAt: null, result: null, error: null },
        held: admitted.held[index] ?? null,
      }));
      if (rows.length > 0) await transaction.insertInto('batch_links').values(rows).execute();
      const isLast = next + begun.length >= urls.length;
      const waitMs = begun.length === 0 ? { waitMs: admitted.retryAfterMs } : {};
      return { links: [...again, ...begun], isLast, ...waitMs };
    });
  }

  /** Stores the end of a link and charges it. False if the batch or another run has ended it. */
  end(end: LinkEnd): Promise<boolean> {
    // Not in the transaction, which others wait for.
    const { outcome } = end;
    const row =
      'result' in outcome
        ? { state: 'completed' as const, result: encodeResult(outcome) }
        : { state: 'failed' as const, error: toJson(outcome.error) };
    return this.#ends.submit({ end, row });
  }

  /** Ends what runs of batches that have ended, in the transaction of their end. */
  *endOpen(jobs: readonly EndedJob[]): Script<void> {
    if (jobs.length === 0) return;
    const { database, times, charges } = this.#options;
    const open = yield* rowsOf(
      database.queries
        .updateTable('batch_links')
        .set({ state: 'failed', error: CANCELLED, endedAt: times.now })
        .where(
          'jobId',
          'in',
          jobs.map(({ id }) => id),
        )
        .where('state', '=', 'started')
        .returning('held')
        .compile(),
    );
    yield* charges.release(open.flatMap(({ held }) => held ?? []));
  }

  /** Counts of several batches, by id. */
  async progress(ids: readonly string[]): Promise<ReadonlyMap<string, BatchProgress>> {
    const found = new Map(ids.map((id) => [id, { started: 0, completed: 0, failed: 0 }]));
    if (ids.length === 0) return found;
    const rows = await this.#options.database.run((queries) =>
      queries
        .selectFrom('batch_links')
        .select(({ fn }) => ['jobId', 'state', fn.countAll<number>().as('links')])
        .where('jobId', 'in', ids)
        .groupBy(['jobId', 'state'])
        .execute(),
    );
    for (const { jobId, state, links } of rows) {
      const counts = found.get(jobId);
      if (counts)
        for (const count of COUNTS) if (count === state || count === 'started') counts[count] += Number(links);
    }
    return found;
  }

  /** The number of links at the beginning of a batch that have ended: their results do not change any more. */
  ended(jobId: string): Promise<number> {
    return this.#options.database.run(async (queries) => {
      const open = await queries
        .selectFrom('batch_links')
        .select('position')
        .where('jobId', '=', jobId)
        .where('state', '=', 'started')
        .orderBy('position')
        .limit(1)
        .executeTakeFirst();
      return open ? open.position : countStarted(queries, jobId);
    });
  }

  /** Ended links from a position on, at most `limit`. */
  async results(jobId: string, from: number, limit: number): Promise<EndedLink[]> {
    const rows = await this.#options.database.run((queries) =>
      queries
        .selectFrom('batch_links')
        .select(['position', 'url', 'platform', 'attempts', 'result', 'error'])
        .where('jobId', '=', jobId)
        .where('position', '>=', from)
        .where('position', '<', from + limit)
        .where('state', '<>', 'started')
        .orderBy('position')
        .execute(),
    );
    return rows.map(({ url, result, error, ...row }) => ({
      ...row,
      url: JSON.parse(url) as string,
      outcome: result === null ? { error: JSON.parse(error ?? 'null') } : decodeResult(result),
    }));
  }

  /** Locks the batch, which this run must have. */
  async #hold(transaction: Transaction<Tables>, { id, attempts }: BeginInput['run']): Promise<void> {
    const own = transaction
      .selectFrom('jobs')
      .select('id')
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('state', '=', 'running');
    const isPostgres = this.#options.database.engine === 'postgres';
    if (await (isPostgres ? own.forShare() : own).executeTakeFirst()) return;
    throw new GatewayError('cancelled', 'The batch has ended, or another process runs it.');
  }

  *#endGroup(ends: readonly StoredEnd[]): Script<boolean[]> {
    const { database, times, charges } = this.#options;
    const { queries } = database;
    const at = yield* times.readScript();
    // A batch that progresses is no poison job. Jobs are locked before their links everywhere, against deadlocks.
    const ids = [...new Set(ends.map(({ end }) => end.link.jobId))].sort();
    yield queries
      .updateTable('jobs')
      .set({ crashCount: 0 })
      .where('id', 'in', ids)
      .where('crashCount', '>', 0)
      .compile();
    const done = new Set<StoredEnd>();
    const charged: ChargedLink[] = [];
    for (const stored of ends.toSorted(inOrder)) {
      const { link, input, outcome } = stored.end;
      const [row] = yield* rowsOf(
        queries
          .updateTable('batch_links')
          .set({ ...stored.row, endedAt: at })
          .where('jobId', '=', link.jobId)
          .where('position', '=', link.position)
          .where('attempts', '=', link.attempts)
          .where('state', '=', 'started')
          .returning(['held', 'startedAt'])
          .compile(),
      );
      if (!row) continue;
      done.add(stored);
      const how = 'result' in outcome ? { method: outcome.method } : { errorCode: outcome.error.code };
      const requestId = `${link.jobId}/${link.position + 1}`;
      const { keyId, accountId } = input;
      const { platform, url } = link;
      charged.push({ keyId, accountId, requestId, platform, url, ...how, ...row, endedAt: at });
    }
    yield* charges.settle(charged);
    return ends.map((end) => done.has(end));
  }
}

/** A fixed order, so that two groups do not deadlock. */
function inOrder({ end: { link: left } }: StoredEnd, { end: { link: right } }: StoredEnd): number {
  if (left.jobId !== right.jobId) return left.jobId < right.jobId ? -1 : 1;
  return left.position - right.position;
}

/** Links that an earlier run began and did not end. They have their request and their money already. */
async function beginAgain(
  transaction: Transaction<Tables>,
  jobId: string,
  { running, max, now }: { running: readonly number[]; max: number; now: number },
): Promise<BegunLink[]> {
  const open = transaction
    .selectFrom('batch_links')
    .select('position')
    .where('jobId', '=', jobId)
    .where('state', '=', 'started')
    .$if(running.length > 0, (query) => query.where('position', 'not in', running))
    .orderBy('position')
    .limit(max);
  const rows = await transaction
    .updateTable('batch_links')
    .set({ attempts: sql<number>`attempts + 1`, startedAt: now })
    .where('jobId', '=', jobId)
    .where('position', 'in', open)
    .returning(['jobId', 'position', 'url', 'platform', 'attempts'])
    .execute();
  return rows.map((row) => ({ ...row, url: JSON.parse(row.url) as string }));
}

/** Links have rows from the first on. */
async function countStarted(queries: Kysely<Tables>, jobId: string): Promise<number> {
  const { last } = await queries
    .selectFrom('batch_links')
    .select(({ fn }) => fn.max<number | null>('position').as('last'))
    .where('jobId', '=', jobId)
    .executeTakeFirstOrThrow();
  return last === null ? 0 : last + 1;
}

const CANCELLED = toJson({ code: 'cancelled', message: 'The batch ended before this link.', retryable: true });

function encodeResult({ result, words }: StoredLink): string {
  return deflateRawSync(JSON.stringify({ result, words })).toString('base64');
}

export function decodeResult(text: string): StoredLink {
  return JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString()) as StoredLink;
}
