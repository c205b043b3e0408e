/*
 * Tasks of the protocol, in the form of 2025-11-25 and as the extension of 2026-07-28. A task is a durable job: its id is
 * that of the job, its account is that of the key, and nothing about it is in memory, so it survives its node and is
 * read on any other. There is no list of tasks, since clients keep their ids; an id of another account does not exist.
 */

import { ProtocolError, type Server } from '@modelcontextprotocol/server';
import { RouteFailure } from '../http/index.js';
import { CLIENT_CAPABILITIES, OWN_META } from './plain-calls.js';
import type { Caller, Era } from './protocol.js';
import type { ToolResult } from './results.js';
import type { JobState, ToolJobs } from './tool.js';
import { errorOf, isOpen, resultOfJob, type ToolCalls, untilEnded } from './tool-calls.js';

const EXTENSION = `${OWN_META}tasks`;
const RELATED = `${OWN_META}related-task`;
const INVALID_PARAMS = -32_602;
const FAILED = -32_000;

/** What each form announces. */
export const TASK_CAPABILITIES = {
  legacy: { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
  modern: { extensions: { [EXTENSION]: {} } },
} as const;

/** Whether the client of a request of 2026-07-28 takes tasks in place of results. */
export function clientTakesTasks(envelope: Readonly<Record<string, unknown>> | undefined): boolean {
  const capabilities = envelope?.[CLIENT_CAPABILITIES] as { extensions?: Record<string, unknown> } | undefined;
  return capabilities?.extensions?.[EXTENSION] !== undefined;
}

const STATUS = {
  queued: 'working',
  running: 'working',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

function describeTask(job: JobState, era: Era) {
  const { id, state, createdAt, updatedAt, expiresAt, pollSeconds, progress, message } = job;
  const ttl = expiresAt === undefined ? null : Math.max(0, Date.parse(expiresAt) - Date.parse(createdAt));
  const counted = progress && `${progress.done} of ${progress.total}`;
  const words =
    state === 'failed' ? errorOf(job)?.message : (message ?? counted ?? (state === 'queued' ? 'Queued' : undefined));
  const times = { createdAt, lastUpdatedAt: updatedAt };
  const common = { taskId: id, status: STATUS[state], ...(words !== undefined && { statusMessage: words }), ...times };
  return era === 'legacy'
    ? { ...common, ttl, pollInterval: pollSeconds * 1000 }
    : { ...common, ttlMs: ttl, pollIntervalMs: pollSeconds * 1000 };
}

/** The result of a call that became a task. */
export function encodeTask(job: JobState, era: Era) {
  // A result of a call must have contents; clients of tasks ignore them.
  if (era === 'legacy') return { task: describeTask(job, era), content: [] };
  return { resultType: 'task', ...describeTask(job, era), content: [] };
}

/** Adds the methods of tasks to a server. */
export function addTasks(server: Server, calls: ToolCalls, caller: Caller, era: Era): void {
  const tasks = new Tasks(calls, caller);
  const add = (method: string, handle: (taskId: string, signal: AbortSignal) => Promise<Record<string, unknown>>) =>
    server.setRequestHandler(method, { params: AnyParams }, (params) =>
      handle(taskIdOf(params as Params), caller.signal),
    );
  if (era === 'legacy') {
    add('tasks/get', async (taskId, signal) => describeTask((await tasks.read(taskId, signal)).job, era));
    add('tasks/result', (taskId, signal) => tasks.untilResult(taskId, signal));
    add('tasks/cancel', async (taskId, signal) => describeTask(await tasks.cancel(taskId, signal), era));
    return;
  }
  add('tasks/get', async (taskId, signal) => {
    const { jobs, job } = await tasks.read(taskId, signal);
    if (job.state === 'completed') return { ...describeTask(job, era), result: await tasks.result(jobs, job, signal) };
    if (job.state !== 'failed') return describeTask(job, era);
    const { code = 'internal_error', message = 'The job failed.' } = errorOf(job) ?? {};
    return { ...describeTask(job, era), error: { code: FAILED, message: `${code}: ${message}`, data: { code } } };
  });
  add('tasks/cancel', async (taskId, signal) => {
    await tasks.cancel(taskId, signal);
    return {};
  });
  // No task asks its client for anything.
  add('tasks/update', async (taskId, signal) => {
    await tasks.read(taskId, signal);
    return {};
  });
}

/** The tasks of a caller. */
class Tasks {
  readonly #calls: ToolCalls;
  readonly #caller: Caller;

  constructor(calls: ToolCalls, caller: Caller) {
    this.#calls = calls;
    this.#caller = caller;
  }

  async read(taskId: string, signal: AbortSignal): Promise<{ jobs: ToolJobs; job: JobState }> {
    const jobs = this.#jobsOf(taskId);
    return { jobs, job: await refused(jobs.read({ ...this.#caller, signal }, taskId, 0)) };
  }

  result(jobs: ToolJobs, job: JobState, signal: AbortSignal): Promise<ToolResult> {
    return resultOfJob(jobs, { ...this.#caller, signal }, job);
  }

  /** Waits for the end of the task. */
  async untilResult(taskId: string, signal: AbortSignal): Promise<Record<string, unknown>> {
    const { jobs, job } = await this.read(taskId, signal);
    const ended = await refused(untilEnded(jobs, { ...this.#caller, signal }, job));
    const result = await this.result(jobs, ended, signal);
    return { ...result, _meta: { ...result._meta, [RELATED]: { taskId } } };
  }

  async cancel(taskId: string, signal: AbortSignal): Promise<JobState> {
    const jobs = this.#jobsOf(taskId);
    await refused(jobs.cancel({ ...this.#caller, signal }, taskId));
    const job = await refused(jobs.read({ ...this.#caller, signal }, taskId, 0));
    // A job that others wait for goes on for them, and is cancelled for this account.
    return isOpen(job) ? { ...job, state: 'cancelled' } : job;
  }

  #jobsOf(taskId: string): ToolJobs {
    const jobs = this.#calls.jobsOf(this.#caller.key, taskId);
    if (jobs) return jobs;
    throw new ProtocolError(INVALID_PARAMS, 'There is no such task.');
  }
}

/** What a route refuses is an error of the protocol. */
async function refused<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof RouteFailure)) throw error;
    const { status, code, message, retryAfterSeconds: wait } = error;
    const data = { code, ...(wait !== undefined && { retry_after_seconds: wait }) };
    throw new ProtocolError(status < 500 && status !== 429 ? INVALID_PARAMS : FAILED, message, data);
  }
}

type Params = Readonly<Record<string, unknown>>;

/** Parameters that the handler reads by itself, as the package takes schemas. */
const AnyParams = {
  '~standard': {
    version: 1,
    vendor: 'mediagate',
    validate: (value: unknown) => ({ value }),
  },
} as const;

function taskIdOf({ taskId }: Params): string {
  if (typeof taskId === 'string' && /^[\w.]{1,200}$/.test(taskId)) return taskId;
  throw new ProtocolError(INVALID_PARAMS, 'taskId must be the id of a task.');
}
