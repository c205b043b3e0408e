/*
 * Background jobs of all accounts for operators: list, details, counts, cancel, retry. Answers omit what is private to the owner
 * of a job: no prompt, and no message of a model's vendor, which may quote one. Ages are measured against the one moment
 * at which the list was read.
 */

import { field, type JobFailure, type JobState, Type } from '../../core/contracts/index.js';
import type { ExtractionJobSummary } from '../../core/extraction/index.js';
import { type ImageJobSummary, removeInputImages } from '../../core/images/index.js';
import type { JobKind, JobList, ListedJob } from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { type AuditEntry, writeAudit } from '../audit/index.js';
import type { BatchSummary } from '../batches/index.js';
import { JOB_KINDS, JOB_STATES } from '../choices.js';
import { isoTime } from '../format/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
import { unknownName } from '../names/index.js';
import { decimalOf } from '../prices/index.js';
import type { TranscriptSummary } from '../transcripts/index.js';
import type { CostedJob, JobCharge } from '../usage/index.js';
import { type AdminActor, adminRoute, NoteBody } from './admin-route.js';
import { encodeAuditEntry } from './audit.js';
import {
  encodePage,
  LIST_QUERY,
  type ListPage,
  type ListRange,
  listSchema,
  rangeOf,
  readPage,
  wholeList,
} from './lists.js';
import type { AdminServices, Of, Stored } from './services.js';
import { changed, Job, JobDetails, jobFields, QueueShape, RetriedJob } from './shapes.js';

export interface JobFilter {
  /** Default: all kinds. */
  kind?: JobKind;
  /** Default: queued and running ones. `all` is these, and then those that ended. */
  state?: JobState | 'all';
  /** Only jobs of this account. */
  owner?: string;
  /** Whether {@link workOf} tells what each is about. */
  withSummary?: boolean;
}

/** All times are of the same moment. */
export type Moment = Pick<JobList, 'at' | 'leaseMs'>;

/** A page of jobs, and the moment at which it was read. */
export interface JobListPage extends ListPage<ListedJob>, Moment {}

/** Active jobs newest first; those of another state by when they ended, latest first. @throws GatewayError `invalid_value`. */
export async function listJobs(
  { state: { jobs } }: Stored<'jobs'>,
  filter: JobFilter,
  range: ListRange,
): Promise<JobListPage> {
  let moment: Moment | undefined;
  const read = async ({ limit, after }: ListRange) => {
    const list = await jobs.list({ ...filter, limit, ...(after && { before: after.id }) }).catch(asCursorError);
    moment = list;
    return list.jobs;
  };
  const page = await readPage(range, read, ({ createdAt: at, id }) => ({ at, id }));
  const { at, leaseMs } = moment as unknown as Moment;
  return { ...page, at, leaseMs };
}

/** The job of a cursor is deleted some time after its end. */
function asCursorError(error: unknown): never {
  if (!isGatewayError(error) || error.code !== 'job_not_found') throw error;
  const message = 'after must be `next` of an earlier page; its job is deleted meanwhile.';
  throw new GatewayError('invalid_value', message, { param: 'after' });
}

export interface WholeJob {
  job: CostedJob;
  audit: readonly AuditEntry[];
}

const MAX_ROWS = 20;

/** @throws GatewayError `job_not_found`. */
export async function showJob({ state }: Stored<'jobs' | 'audit'>, id: string): Promise<WholeJob> {
  const job = await state.jobs.inspect(id);
  if (!job) throw noJob();
  return { job, audit: await state.audit.list({ subject: id, limit: MAX_ROWS }) };
}

/** Cancels a job for all its owners, and removes its input images. @throws GatewayError `job_not_found`, `job_already_terminal`. */
export async function cancelJob(
  { state, clock, logger }: Stored<'jobs' | 'files'> & Of<'clock' | 'logger'>,
  id: string,
  by: AdminActor,
) {
  const done = await state.jobs.cancelAsOperator({ id, ...by });
  if (!done) throw noJob();
  const { job, changed } = done;
  if (changed && job.kind === 'image') await removeInputImages(job, { storage: state.files, clock, logger });
  return { id, state: job.state, changed };
}

/**
 * Does the work of a failed job again, as a new job of its owners and at no cost to them.
 * @throws GatewayError `job_not_found`, `job_not_retryable`.
 */
export async function retryJob(
  { state }: Stored<'jobs'>,
  id: string,
  { requestId, ...by }: AdminActor & { requestId?: string },
) {
  const job = await state.jobs.retryAsOperator({ id, ...(requestId !== undefined && { requestId }), ...by });
  if (!job) throw noJob();
  return { id: job.id, state: job.state, retry_of: id };
}

function noJob(): GatewayError {
  return new GatewayError('job_not_found', 'There is no such job.', { param: 'id' });
}

/** How many jobs of a kind wait, run, and ended within the last hour. */
export interface Queue {
  kind: JobKind;
  queued: number;
  running: number;
  /** Milliseconds that the oldest queued job has waited. */
  oldestQueuedMs: number;
  completed: number;
  failed: number;
  cancelled: number;
  /** Milliseconds since 1970; null if it is not paused. */
  pausedAt: number | null;
}

export async function readQueues({ state: { jobs } }: Stored<'jobs'>): Promise<readonly Queue[]> {
  const [active, recent, pauses] = await Promise.all([jobs.counts(), jobs.recentEnds(), jobs.pauses()]);
  return JOB_KINDS.map((kind) => {
    const pausedAt = pauses.get(kind) ?? null;
    return { kind, ...active[kind], ...recent[kind], pausedAt };
  });
}

/** Pauses or resumes the jobs of a kind, in all processes. False if it was so before. */
export function pauseJobs(
  { state: { jobs } }: Stored<'jobs'>,
  { kind, paused, ...by }: { kind: JobKind; paused: boolean } & AdminActor,
): Promise<boolean> {
  return jobs.setPaused({
    kind,
    paused,
    alsoWrite: (transaction, at) =>
      writeAudit(transaction, { subject: `jobs:${kind}`, at, action: paused ? 'jobs.paused' : 'jobs.resumed', ...by }),
  });
}

export function describeQueue({ oldestQueuedMs, pausedAt, ...queue }: Queue) {
  return { ...queue, oldest_queued_seconds: Math.floor(oldestQueuedMs / 1000), paused_at: isoTime(pausedAt) };
}

/** A job for the API and the `--json` output. */
export function describeJob(job: ListedJob, moment: Moment) {
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

/** Milliseconds in the present state. The time since which an interrupted job waits again is not stored. */
export function inState(
  { state, attempts, createdAt, startedAt, finishedAt }: ListedJob,
  { at }: Moment,
): number | undefined {
  if (state === 'queued') return attempts === 0 ? at - createdAt : undefined;
  return at - (finishedAt ?? startedAt ?? createdAt);
}

export function describeWholeJob({ job, audit }: WholeJob) {
  const { joinedBy, requestId, expiresAt, queuePosition, quotaDay, idempotentUntil, charge } = job;
  return {
    ...describeJob(job, job),
    ...workOf(job),
    joined_by: joinedBy,
    request: requestId,
    trace: traceOf(job),
    expires_at: isoTime(expiresAt),
    queue_position: queuePosition,
    retry_of: job.retryOf,
    retried_as: job.retriedAs,
    retryable: job.isRetryable,
    quota_day: quotaDay,
    idempotent_until: idempotentUntil.map((time) => isoTime(time)),
    charge: charge && describeCharge(charge),
    failure: failureOf(job),
    audit: audit.map(encodeAuditEntry),
  };
}

/** Only what log lines also contain, and nothing else of the request. */
export function workOf({ kind, summary }: Pick<CostedJob, 'kind' | 'summary'>) {
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
export function failureOf({ kind, error }: Pick<CostedJob, 'kind' | 'error'>): JobFailure | null {
  if ((kind !== 'image' && kind !== 'transcript') || error === null) return error;
  const { reason: _words, ...failure } = error;
  return failure;
}

/** Identifies its traces. */
export function traceOf({ traceparent }: Pick<CostedJob, 'traceparent'>): string | null {
  return traceparent?.split('-')[1] ?? null;
}

function describeCharge({ cost, at, ...charge }: JobCharge) {
  return { ...charge, ...(cost !== null && { cost: Number(decimalOf(cost)) }), at: isoTime(at) };
}

const JOB = { id: { description: 'Id of the job.', example: 'imgjob_1a2b' } };

export function jobRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/jobs',
      summary: 'List background jobs',
      description: 'Lists queued and running jobs newest first; of another state those that ended last.',
      query: {
        kind: { schema: Type.Unsafe<JobKind>(OneOf(...JOB_KINDS)), description: 'Only this kind. Default: all.' },
        state: { schema: Type.Unsafe<JobState>(OneOf(...JOB_STATES)), description: 'Default: queued and running.' },
        account: { schema: Text, description: 'Only this account.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The jobs.', name: 'JobList', schema: listSchema(Job, 'Jobs') },
      async run({ query: { kind, state, account: owner, limit, after } }) {
        const filter = { ...(kind && { kind }), ...(state && { state }), ...(owner !== undefined && { owner }) };
        const page = await listJobs(services, filter, rangeOf({ limit, after }));
        return encodePage(page, (job) => describeJob(job, page));
      },
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/jobs/:id',
      params: JOB,
      summary: 'Get a background job',
      description: 'Returns a job without what is private to its owner: no prompt, link or result.',
      answer: { description: 'The job.', name: 'JobDetails', schema: JobDetails },
      errors: ['job_not_found'],
      run: async ({ param }) => describeWholeJob(await showJob(services, param('id'))),
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/jobs/:id/cancel',
      params: JOB,
      summary: 'Cancel a background job',
      description: 'Cancels a queued or running job for all its owners.',
      body: NoteBody,
      answer: { description: 'The state.', name: 'ChangedJob', schema: Type.Object({ ...jobFields, ...changed }) },
      errors: ['job_not_found', 'job_already_terminal'],
      run: ({ param, by }) => cancelJob(services, param('id'), by),
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/jobs/:id/retry',
      params: JOB,
      summary: 'Retry a failed job',
      description:
        'Does the work of a failed image or extraction job again, as a new job of its owners and at no cost to them.',
      body: NoteBody,
      answer: { description: 'The new job.', name: 'RetriedJob', schema: RetriedJob },
      errors: ['job_not_found', 'job_not_retryable'],
      run: ({ param, by, context }) => retryJob(services, param('id'), { ...by, requestId: context.state.requestId }),
    }),
    ...queueRoutes(services),
  ];
}

const KIND = { kind: { description: `Kind of job: ${JOB_KINDS.join(', ')}.`, example: 'image' } };

function queueRoutes(services: AdminServices): Route[] {
  const set = (verb: 'pause' | 'resume', summary: string, description: string) =>
    adminRoute(services, {
      method: 'POST',
      path: `/queues/:kind/${verb}`,
      params: KIND,
      summary,
      description,
      body: NoteBody,
      answer: {
        description: 'Whether it is paused.',
        name: 'PausedQueue',
        schema: Type.Object({
          kind: field(Text, 'Kind of job.', 'image'),
          paused: field(Type.Boolean(), 'Whether it is paused now.'),
          ...changed,
        }),
      },
      errors: ['invalid_value'],
      async run({ param, by }) {
        const kind = JOB_KINDS.find((one) => one === param('kind'));
        if (!kind) throw unknownName('kind', param('kind'), JOB_KINDS);
        const paused = verb === 'pause';
        return { kind, paused, changed: await pauseJobs(services, { kind, paused, ...by }) };
      },
    });
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/queues',
      summary: 'List the queues of background jobs',
      description: 'Lists the kinds of jobs with how many wait and run, and how many ended in the last hour.',
      answer: { description: 'The queues.', name: 'QueueList', schema: wholeList(QueueShape, 'One for each kind.') },
      run: async () => ({ object: 'list', data: (await readQueues(services)).map(describeQueue) }),
    }),
    set('pause', 'Pause a kind of jobs', 'No job of the kind is started until it is resumed; running ones go on.'),
    set('resume', 'Resume a kind of jobs', 'Starts the waiting jobs of a paused kind, within seconds.'),
  ];
}
