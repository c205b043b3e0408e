/*
 * The commands for background jobs of all accounts: list, show, cancel and retry. Output omits what is private to the owner of
 * a job: no prompt, and no message of a model's vendor, which may quote one. Ages are measured against the one moment
 * at which the list was read. A running job is described by the heartbeats of its worker: alive, late, or with an ended
 * lease, after which another worker takes the job.
 */

import { existsSync } from 'node:fs';
import path from 'node:path';
import type { JobFailure } from '../../../core/contracts/index.js';
import { type ImageJobSummary, removeInputImages } from '../../../core/images/index.js';
import type { JobList, JobRecord, JobWorker, ListedJob } from '../../../core/jobs/index.js';
import { isGatewayError, systemClock } from '../../../core/runtime/index.js';
import { openFiles } from '../../../core/storage/index.js';
import {
  describeJob,
  describeWholeJob,
  failureOf,
  inState,
  type Moment,
  retryJob,
  traceOf,
  type WholeJob,
  workOf,
} from '../../admin/index.js';
import { JOB_KINDS } from '../../choices.js';
import { isoTime, renderDuration, sanitizeForTerminal } from '../../format/index.js';
import { decimalOf } from '../../prices/index.js';
import type { Settings } from '../../settings/index.js';
import type { Records } from '../../state.js';
import { type CostedJob, grouped, type JobCharge } from '../../usage/index.js';
import type { NoteOptions } from '../access/access-commands.js';
import { byOperator, limitOf, using, withLogger, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { joinParts, type Outcome, renderAudit, renderFacts, renderRows } from '../output.js';
import type { listJobs } from './gateway-commands.js';

const HEAD = ['ID', 'KIND', 'STATE', 'AGE', 'IN STATE', 'RUNS', 'ACCOUNT', 'KEY', 'WORKER', 'WHY'];

/** Jobs and, for people, the number of jobs per state. */
export async function listJobsCommand(
  settings: Settings,
  { limit, account: owner, kind, state, before }: OptionsOf<typeof listJobs>,
): Promise<Outcome<'Jobs'>> {
  const page = { limit: limitOf(limit), kind, state, owner, before };
  const { list, counts } = await withState(settings, async ({ jobs }) => ({
    list: await jobs.list(page),
    counts: await countLines(jobs),
  }));
  const none = state ? 'There are no such jobs.' : 'No such job is queued or running; use --state to list ended jobs.';
  const rows = list.jobs.map((job) => row(job, list));
  return {
    json: list.jobs.map((job) => describeJob(job, list)),
    text: joinParts(renderRows(HEAD, rows) || none, counts.join('\n')),
  };
}

async function countLines(jobs: Records['jobs']): Promise<string[]> {
  const [active, recent] = await Promise.all([jobs.counts(), jobs.recentEnds()]);
  return JOB_KINDS.map((kind) => {
    const { queued, running } = active[kind];
    const { completed, failed, cancelled } = recent[kind];
    const now = `${grouped(queued)} queued, ${grouped(running)} running`;
    const ended = `${grouped(completed)} completed, ${grouped(failed)} failed, ${grouped(cancelled)} cancelled`;
    return `${kind}: ${now}; ended in the last hour: ${ended}`;
  });
}

function row(job: ListedJob, moment: Moment): string[] {
  const { id, kind, state, attempts, owner, joined, keyId, createdAt, worker } = job;
  const inStateMs = inState(job, moment);
  return [
    id,
    kind,
    state,
    renderDuration(moment.at - createdAt),
    inStateMs === undefined ? '-' : renderDuration(inStateMs),
    String(attempts),
    joined === 0 ? owner : `${owner} +${joined}`,
    keyId ?? '-',
    worker ? renderWorker(worker) : '-',
    renderWhy(job, moment),
  ];
}

function renderWorker({ host, pid }: NonNullable<ListedJob['worker']>): string {
  return `${sanitizeForTerminal(host)}:${pid}`;
}

function renderWhy(job: ListedJob, moment: Moment): string {
  if (job.state === 'queued') return renderWait(job);
  if (job.worker) return renderLease(job.worker, moment);
  return job.error?.code ?? '-';
}

function unknownJob(id: string): CommandFailure {
  return new CommandFailure(`There is no job ${sanitizeForTerminal(id)}; "mediagate jobs list" shows them.`);
}

/** Cancels a job for all its owners; its worker stops within seconds, on any node. */
export async function cancelJobCommand(
  settings: Settings,
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'CancelledJob'>> {
  const cancellation = { id, ...byOperator(note) };
  const done = await withState(settings, ({ jobs }) => jobs.cancelAsOperator(cancellation));
  if (!done) throw unknownJob(id);
  const { job, changed } = done;
  if (changed && job.kind === 'image') await tidy(settings, job);
  const text = changed ? `Job ${id} is cancelled.` : `Job ${id} was cancelled before.`;
  return { json: { id, state: job.state, changed }, text };
}

/** Does the work of a failed job again; a worker takes it within seconds, on any node. */
export async function retryJobCommand(
  settings: Settings,
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'RetriedJob'>> {
  const json = await withState(settings, (state) => retryJob({ state }, id, byOperator(note))).catch(
    (error: unknown) => {
      if (isGatewayError(error) && error.code === 'job_not_found') throw unknownJob(id);
      throw error;
    },
  );
  return { json, text: `Job ${json.id} does the work of ${id} again.` };
}

/** Removes input images as well, unless this machine has no data folder of a node: then they expire within a day. */
async function tidy(settings: Settings, job: JobRecord): Promise<void> {
  const { dataDir, filesUrl } = settings;
  const { files: names } = job.summary as ImageJobSummary;
  if (names.length === 0 || !existsSync(path.join(dataDir, 'files'))) return;
  await withLogger(settings, async (logger) =>
    using(await openFiles({ dataDir, filesUrl, clock: systemClock, logger }), (storage) =>
      removeInputImages(job, { storage, clock: systemClock, logger }),
    ),
  );
}

/** Maximum audit rows: a job is cancelled once. */
const MAX_ROWS = 20;

/** One job, without the private data of its owner. */
export async function showJobCommand(settings: Settings, id: string): Promise<Outcome<'JobDetails'>> {
  const whole = await withState(settings, async ({ jobs, audit }): Promise<WholeJob> => {
    const job = await jobs.inspect(id);
    if (!job) throw unknownJob(id);
    return { job, audit: await audit.list({ subject: id, limit: MAX_ROWS }) };
  });
  return { json: describeWholeJob(whole), text: renderWhole(whole) };
}

function renderWhole({ job, audit }: WholeJob): string {
  const { attempts, crashCount, joinedBy, keyId, quotaDay, idempotentUntil, charge, error } = job;
  const runs = crashCount === 0 ? String(attempts) : `${attempts}, ${crashCount} interrupted`;
  const until = idempotentUntil.map((time) => isoTime(time)).join(', ');
  const facts = renderFacts([
    ['job', job.id],
    [
      'work',
      Object.values(workOf(job))
        .map((part) => sanitizeForTerminal(String(part)))
        .join(' '),
    ],
    ['state', job.state],
    ['why', renderFailureReason(job)],
    ['worker', job.worker ? renderWorker(job.worker) : '-'],
    ['runs', runs],
    ['account', job.owner],
    ['joined by', joinedBy.join(', ') || '-'],
    ['key', keyId ?? '-'],
    ['request', sanitizeForTerminal(job.requestId ?? '-')],
    ['trace', traceOf(job) ?? '-'],
    ['created', isoTime(job.createdAt)],
    ['started', isoTime(job.startedAt) ?? '-'],
    ['finished', isoTime(job.finishedAt) ?? '-'],
    ['kept to', isoTime(job.expiresAt) ?? '-'],
    ['retry of', job.retryOf ?? '-'],
    ['retried', job.retriedAs === null ? '-' : `as ${job.retriedAs}`],
    ['quota', quotaDay === null ? '-' : renderQuota(quotaDay, job)],
    ['repeats', until === '' ? '-' : `this job is the answer to its Idempotency-Key until ${until}`],
    ['charge', charge ? renderCharge(charge) : '-'],
  ]);
  return joinParts(facts, attemptTable(error), renderAudit(audit, 'STATES'));
}

function renderFailureReason(job: CostedJob): string {
  const { state, queuePosition, worker } = job;
  const error = failureOf(job);
  if (state === 'queued')
    return queuePosition === null ? renderWait(job) : `${renderWait(job)}, place ${queuePosition}`;
  if (worker) return renderLease(worker, job);
  if (!error) return '-';
  const { code, message, param, reason } = error;
  const parts = [
    code,
    sanitizeForTerminal(message),
    ...[param, reason].filter((part) => part !== undefined).map(sanitizeForTerminal),
  ];
  return parts.join(' · ');
}

function renderQuota(day: string, { state }: CostedJob): string {
  return state === 'failed' || state === 'cancelled' ? `${day}, refunded` : `that of ${day}`;
}

function renderCharge({ model, units, usage, cost, at }: JobCharge): string {
  const counts = Object.entries(usage ?? {}).filter(([, count]) => typeof count === 'number');
  const used = counts.map(([name, count]) => `${name} ${grouped(count as number)}`);
  const costs = cost === null ? [] : [`cost ${decimalOf(cost)}`];
  return [`${units} × ${sanitizeForTerminal(model)}`, ...used, ...costs, isoTime(at)].join(', ');
}

function attemptTable(error: JobFailure | null): string {
  const rows = (error?.attempts ?? []).map(({ method, outcome, ms }) => [
    sanitizeForTerminal(method),
    sanitizeForTerminal(outcome),
    grouped(ms),
  ]);
  return renderRows(['METHOD', 'OUTCOME', 'MS'], rows);
}

/** Workers write three heartbeats per lease; one of them may be late. */
const LATE = 2 / 3;

/** Whether the process of a running job is alive, and otherwise what happens to the job. */
export function renderLease(
  { seenAt, isProcessDead }: JobWorker,
  { at, leaseMs }: Pick<JobList, 'at' | 'leaseMs'>,
): string {
  const silentMs = Math.max(0, at - seenAt);
  const silent = renderDuration(silentMs);
  if (isProcessDead) return 'its worker has ended; waits for another worker';
  if (silentMs < leaseMs * LATE) return `alive ${silent} ago`;
  // Other processes count from the time they first read its last heartbeat, so it may take a little longer.
  if (silentMs < leaseMs)
    return `no heartbeat for ${silent}; its lease ends in ${renderDuration(Math.ceil((leaseMs - silentMs) / 1_000) * 1_000)}`;
  return `no heartbeat for ${silent}; its lease has ended: waits for another worker`;
}

/** Why a job waits. */
export function renderWait({ attempts, crashCount }: Pick<ListedJob, 'attempts' | 'crashCount'>): string {
  if (attempts === 0) return 'waits for a worker';
  if (crashCount === 0) return 'released; queued again';
  return `interrupted ${crashCount === 1 ? 'once' : `${crashCount} times`}; queued again`;
}
