/*
 * The commands for background jobs of all accounts: list, show and cancel. Output omits what is private to the owner of
 * a job: no prompt, and no message of a model's vendor, which may quote one. Ages are measured against the one moment
 * at which the list was read. A running job is described by the heartbeats of its worker: alive, late, or with an ended
 * lease, after which another worker takes the job.
 */

import { existsSync } from 'node:fs';
import path from 'node:path';
import type { JobFailure } from '../../../core/contracts/index.js';
import type { ExtractionJobSummary } from '../../../core/extraction/index.js';
import { type ImageJobSummary, removeInputImages } from '../../../core/images/index.js';
import type { JobKind, JobList, JobRecord, JobWorker, ListedJob } from '../../../core/jobs/index.js';
import { systemClock } from '../../../core/runtime/index.js';
import { openFiles } from '../../../core/storage/index.js';
import type { AuditEntry } from '../../audit/index.js';
import type { BatchSummary } from '../../batches/index.js';
import { isoTime, renderDuration, sanitizeForTerminal } from '../../format/index.js';
import { decimalOf } from '../../prices/index.js';
import type { Settings } from '../../settings/index.js';
import type { Records } from '../../state.js';
import type { TranscriptSummary } from '../../transcripts/index.js';
import { type CostedJob, grouped, type JobCharge } from '../../usage/index.js';
import type { NoteOptions } from '../access/access-commands.js';
import { byOperator, limitOf, using, withLogger, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { encodeAudit, joinParts, type Outcome, renderAudit, renderFacts, renderRows } from '../output.js';
import type { listJobs } from './gateway-commands.js';

const KINDS: readonly JobKind[] = ['image', 'extraction', 'batch', 'transcript'];

const HEAD = ['ID', 'KIND', 'STATE', 'AGE', 'IN STATE', 'RUNS', 'ACCOUNT', 'KEY', 'WORKER', 'WHY'];

/** All times are of the same moment. */
type Moment = Pick<JobList, 'at' | 'leaseMs'>;

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
  return KINDS.map((kind) => {
    const { queued, running } = active[kind];
    const { completed, failed, cancelled } = recent[kind];
    const now = `${grouped(queued)} queued, ${grouped(running)} running`;
    const ended = `${grouped(completed)} completed, ${grouped(failed)} failed, ${grouped(cancelled)} cancelled`;
    return `${kind}: ${now}; ended in the last hour: ${ended}`;
  });
}

/** A job in the `--json` output. */
function describeJob(job: ListedJob, moment: Moment) {
  const { id, kind, state, owner, keyId, joined, attempts, crashCount, createdAt, startedAt, finishedAt, error } = job;
  const inStateMs = inState(job, moment);
  return {
    id,
    kind,
    state,
    account: owner,
    joined,
    key: keyId,
    runs: attempts,
    cut_offs: crashCount,
    created_at: isoTime(createdAt),
    started_at: isoTime(startedAt),
    finished_at: isoTime(finishedAt),
    age_seconds: seconds(moment.at - createdAt),
    in_state_seconds: inStateMs === undefined ? null : seconds(inStateMs),
    worker: describeWorker(job, moment),
    error: error?.code ?? null,
  };
}

function describeWorker({ worker }: ListedJob, { at, leaseMs }: Moment) {
  if (!worker) return null;
  const { host, pid, seenAt, isProcessDead } = worker;
  const leaseSecondsLeft = seconds(seenAt + leaseMs - at);
  return { host, pid, ended: isProcessDead, seen_at: isoTime(seenAt), lease_seconds_left: leaseSecondsLeft };
}

function seconds(ms: number): number {
  return Math.max(0, Math.floor(ms / 1000));
}

/** The time since which an interrupted job waits again is not stored. */
function inState({ state, attempts, createdAt, startedAt, finishedAt }: ListedJob, { at }: Moment): number | undefined {
  if (state === 'queued') return attempts === 0 ? at - createdAt : undefined;
  return at - (finishedAt ?? startedAt ?? createdAt);
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

interface Column {
  job: CostedJob;
  audit: readonly AuditEntry[];
}

/** One job, without the private data of its owner. */
export async function showJobCommand(settings: Settings, id: string): Promise<Outcome<'JobDetails'>> {
  const whole = await withState(settings, async ({ jobs, audit }): Promise<Column> => {
    const job = await jobs.inspect(id);
    if (!job) throw unknownJob(id);
    return { job, audit: await audit.list({ subject: id, limit: MAX_ROWS }) };
  });
  return { json: describeWhole(whole), text: renderWhole(whole) };
}

function describeWhole({ job, audit }: Column) {
  const { joinedBy, requestId, expiresAt, queuePosition, quotaDay, idempotentUntil, charge } = job;
  return {
    ...describeJob(job, job),
    ...workOf(job),
    joined_by: joinedBy,
    request: requestId,
    trace: traceOf(job),
    expires_at: isoTime(expiresAt),
    queue_position: queuePosition,
    quota_day: quotaDay,
    idempotent_until: idempotentUntil.map((time) => isoTime(time)),
    charge: charge && describeCharge(charge),
    failure: failureOf(job),
    audit: encodeAudit(audit),
  };
}

/** Only what log lines also contain, and nothing else of the request. */
function workOf({ kind, summary }: CostedJob) {
  if (kind === 'image') {
    const { model, delivery } = summary as ImageJobSummary;
    return { model, delivery };
  }
  if (kind === 'batch') return { links: (summary as BatchSummary).total };
  if (kind === 'transcript') {
    const { platform, item, model } = summary as TranscriptSummary;
    return { platform, item, model };
  }
  const { platform, link } = summary as ExtractionJobSummary;
  return { platform, item: link.id };
}

/** Without the message of a model's vendor, which may quote the prompt. A platform's message is about public data. */
function failureOf({ kind, error }: CostedJob): JobFailure | null {
  if ((kind !== 'image' && kind !== 'transcript') || error === null) return error;
  const { reason: _words, ...failure } = error;
  return failure;
}

/** Identifies its traces. */
function traceOf({ traceparent }: CostedJob): string | null {
  return traceparent?.split('-')[1] ?? null;
}

function renderWhole({ job, audit }: Column): string {
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
    ['quota', quotaDay === null ? '-' : renderQuota(quotaDay, job)],
    ['repeats', until === '' ? '-' : `this job is the answer to its Idempotency-Key until ${until}`],
    ['charge', charge ? renderCharge(charge) : '-'],
  ]);
  return joinParts(facts, attemptTable(error), renderAudit(audit, 'STATES'));
}

function renderFailureReason(job: Column['job']): string {
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

function describeCharge({ cost, at, ...charge }: JobCharge) {
  return { ...charge, ...(cost !== null && { cost: Number(decimalOf(cost)) }), at: isoTime(at) };
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
  if (silentMs < leaseMs) return `no heartbeat for ${silent}; its lease ends in ${renderDuration(leaseMs - silentMs)}`;
  return `no heartbeat for ${silent}; its lease has ended: waits for another worker`;
}

/** Why a job waits. */
export function renderWait({ attempts, crashCount }: Pick<ListedJob, 'attempts' | 'crashCount'>): string {
  if (attempts === 0) return 'waits for a worker';
  if (crashCount === 0) return 'released; queued again';
  return `interrupted ${crashCount === 1 ? 'once' : `${crashCount} times`}; queued again`;
}
