/** Compares what clients, upstream, database and disk say after image faults, and counts every difference. */

import pLimit from 'p-limit';
import type { Database } from '../../core/database/database.js';
import { hasEnded, type OrderLedger } from './image-orders.js';
import type { OrderSite } from './image-site.js';

const WINDOW_MS = 60_000;
const FETCHES = 8;
/** Windows have a time of their own, read a moment after that of the job. */
const READ_APART_MS = 100;

/** What must be 0 after every fault. */
export interface FaultCounters {
  /** Clients have the id of the job, but it is gone. */
  lost: number;
  /** Requests with two jobs, jobs of no request, completed jobs without exactly one bill, bills of jobs that their vendor was not asked for, results that changed. */
  duplicated: number;
  /** Requests over the limit in any 60 s of a key; slots taken for nothing, or not taken. */
  slotErrors: number;
  /** Not ended in time. */
  stuck: number;
  /** Links of completed jobs that lead to no picture, or to another one than was promised. */
  deadLinks: number;
}

export interface ImageFindings extends FaultCounters {
  requests: number;
  accepted: number;
  refused: number;
  completed: number;
  failed: number;
  cancelled: number;
  bills: number;
  /** Those of jobs that ended without an image after their vendor was asked. */
  unseenBills: number;
  upstreamCalls: number;
  /** Calls beyond the first of their job: pictures that the vendor may bill twice. */
  repeatedCalls: number;
  /** Calls beyond the runs of their job, for which no crash is to blame. Must be 0 where the upstream is well. */
  unexplainedCalls: number;
}

export interface JudgeOptions {
  /** Whether the times in the database are those of a clock that was never set. */
  wallClock: boolean;
}

/** Compares what the clients know, what the database says, and what the links lead to. */
export async function judge(site: OrderSite, ledger: OrderLedger, options: JudgeOptions): Promise<ImageFindings> {
  const database = await site.openDatabase();
  try {
    const answered = ledger.filter(({ ids }) => ids.size > 0);
    const { queries } = database;
    const jobs = await queries
      .selectFrom('jobs')
      .select(['id', 'state', 'keyId', 'attempts', 'asked', 'createdAt'])
      .execute();
    const bills = (await queries.selectFrom('job_charges').select('jobId').execute()).map(({ jobId }) => jobId);
    const known = new Set(jobs.map(({ id }) => id));
    const ids = new Set(answered.flatMap((order) => [...order.ids]));
    const ofState = (state: string) => jobs.filter((job) => job.state === state);
    const completed = ofState('completed');
    const billed = new Set(bills);
    // A vendor that was asked may bill an image that its client no longer waits for.
    const unseen = jobs.filter(({ state, asked }) => asked !== null && (state === 'cancelled' || state === 'failed'));
    const mayBill = new Set([...completed, ...unseen].map(({ id }) => id));
    const duplicated =
      sum(answered, (order) => order.ids.size - 1 + Math.max(0, order.results.size - 1)) +
      count(jobs, ({ id }) => !ids.has(id)) +
      count(completed, ({ id }) => !billed.has(id)) +
      count(ofState('cancelled'), ({ id, asked }) => asked !== null && !billed.has(id)) +
      count(bills, (id) => !mayBill.has(id)) +
      (bills.length - billed.size);
    return {
      lost: count([...ids], (id) => !known.has(id)) + count(answered, ({ last }) => last === '404'),
      duplicated,
      slotErrors: (await slotErrors(database, site.rpm, options)) + overLimit(answered, site.rpm),
      stuck: count(answered, (order) => !hasEnded(order) && order.last !== '404') + ofState('queued').length,
      deadLinks: await deadLinks(site, answered),
      requests: ledger.length,
      accepted: answered.length,
      refused: count(ledger, ({ refusal }) => refusal !== undefined),
      completed: completed.length,
      failed: ofState('failed').length,
      cancelled: ofState('cancelled').length,
      bills: bills.length,
      unseenBills: count(unseen, ({ id }) => billed.has(id)),
      upstreamCalls: site.upstream.requests.length,
      repeatedCalls: sum(jobs, ({ id }) => Math.max(0, site.upstream.calls(id) - 1)),
      unexplainedCalls: sum(jobs, ({ id, attempts }) => Math.max(0, site.upstream.calls(id) - attempts)),
    };
  } finally {
    await database.close();
  }
}

export function isClean({ lost, duplicated, slotErrors, stuck, deadLinks }: FaultCounters): boolean {
  return lost + duplicated + slotErrors + stuck + deadLinks === 0;
}

/** As the database has it: each window counted exactly the jobs of its key, and no 60 s hold too many. */
async function slotErrors({ queries }: Database, rpm: number, { wallClock }: JudgeOptions): Promise<number> {
  const jobs = await queries.selectFrom('jobs').select(['keyId', 'createdAt']).execute();
  const windows = await queries
    .selectFrom('rate_windows')
    .select(['keyId', 'nextSeq'])
    .where('family', '=', 'image')
    .execute();
  return sum(windows, ({ keyId, nextSeq }) => {
    const ofKey = jobs.filter((job) => job.keyId === keyId);
    const times = ofKey.map(({ createdAt }) => createdAt).sort((left, right) => left - right);
    const over = count(times, (at, index) => (times[index + rpm] ?? Infinity) - at < WINDOW_MS - READ_APART_MS);
    return Math.abs(nextSeq - ofKey.length) + (wallClock ? over : 0);
  });
}

/** As clients saw it, independent of the gateway's clock: more were accepted than 60 s have slots. */
function overLimit(answered: OrderLedger, rpm: number): number {
  return sum([...Map.groupBy(answered, ({ key }) => key).values()], (ofKey) => {
    const accepted = ofKey.toSorted((left, right) => (left.acceptedAt ?? 0) - (right.acceptedAt ?? 0));
    // Each was accepted between the request and its answer, so that only this span is certain.
    return count(accepted, (_order, index) => {
      const group = accepted.slice(index, index + rpm + 1);
      const firstSentAt = Math.min(...group.map(({ sentAt }) => sentAt));
      return group.length > rpm && (group.at(-1)?.acceptedAt ?? 0) - firstSentAt < WINDOW_MS;
    });
  });
}

async function deadLinks(site: OrderSite, answered: OrderLedger): Promise<number> {
  const limit = pLimit(FETCHES);
  const promised = answered.flatMap(({ files }) =>
    (files?.links ?? []).map((link, index) => ({ link, bytes: index === 0 ? files?.bytes : undefined })),
  );
  const dead = await Promise.all(promised.map((one) => limit(isDead, site, one)));
  return count(dead, (is) => is);
}

/** @param bytes how many it must have, where that was promised. */
async function isDead(site: OrderSite, { link, bytes }: { link: string; bytes?: number }): Promise<boolean> {
  const response = await fetch((site.gateway?.url ?? '') + link);
  const body = Buffer.from(await response.arrayBuffer());
  const isPng = body.subarray(0, 4).toString('latin1') === '\x89PNG';
  return response.status !== 200 || !isPng || (bytes !== undefined && body.length !== bytes);
}

function count<Item>(items: readonly Item[], is: (item: Item, index: number) => boolean): number {
  return items.filter(is).length;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
