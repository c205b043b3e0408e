/*
 * Finds the tools that a key may use, checks the arguments of a call, and runs it. A call without a task waits for its
 * end, at most ten minutes, and reports progress: a queued job of a client that leaves is cancelled, if no
 * `idempotency_key` can find it again; a running one is finished, since its model probably bills it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createValidator, GatewayError, type Issue, type Validator } from '../../core/runtime/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { accountTools } from './account-tools.js';
import { audioTools } from './audio-tools.js';
import { imageTools } from './image-tools.js';
import { linkTools } from './link-tools.js';
import { questionTools } from './question-tools.js';
import { failedResult, type ToolResult } from './results.js';
import { isGranted, type JobState, type Tool, type ToolCall, type ToolJobs, type ToolSources } from './tool.js';

/** Longest wait of a call without a task. */
const MAX_WAIT_MS = 10 * 60_000;
/** Seconds that a route may hold back the state of a job. */
const READ_SECONDS = 10;
/** Between two reports of progress: clients give up after a minute without one. */
const REPORT_MS = 5_000;

/** What a call reports while it runs. */
export type Report = (progress: { done: number; total?: number | undefined; message: string }) => void;

/** `asked`: the client wants a task. `offered`: it accepts one. `none`: it waits for the result. */
export type TaskMode = 'asked' | 'offered' | 'none';

export interface CallTerms {
  task: TaskMode;
  /** Default: the client wants no reports. */
  report?: Report | undefined;
}

/** The tools of a gateway. */
export class ToolCalls {
  readonly tools: readonly Tool[];
  readonly #validators = new Map<Tool, Validator<unknown>>();

  constructor(sources: ToolSources) {
    this.tools = [
      ...linkTools(sources),
      ...questionTools(sources),
      ...imageTools(sources),
      ...audioTools(sources),
      ...accountTools(sources),
    ];
  }

  /** The tools that the key may use. */
  granted(key: ApiKeyRecord): Tool[] {
    return this.tools.filter((tool) => isGranted(tool, key));
  }

  find(key: ApiKeyRecord, name: string): Tool | undefined {
    return this.tools.find((tool) => tool.name === name && isGranted(tool, key));
  }

  /** The jobs that a task id belongs to, of a tool that the key may use. */
  jobsOf(key: ApiKeyRecord, taskId: string): ToolJobs | undefined {
    return this.granted(key).find(({ jobs }) => jobs?.owns(taskId))?.jobs;
  }

  /** Runs a tool. A failure of the call is a result; anything else is thrown. */
  async call(tool: Tool, call: ToolCall, { task, report }: CallTerms): Promise<ToolResult | JobState> {
    try {
      this.#check(tool, call.input);
      const { jobs } = tool;
      const isTask = task !== 'none' && jobs !== undefined && (task === 'asked' || (jobs.isLong?.(call.input) ?? true));
      if (jobs && isTask) return await jobs.begin(call, task === 'asked');
      const isByJob = jobs && (tool.run === undefined || jobs.isNeeded?.(call.input) === true);
      return isByJob ? await waitForJob(jobs, call, report) : await reported(runOf(tool, call), report);
    } catch (error) {
      return failedResult(error);
    }
  }

  #check(tool: Tool, input: unknown): void {
    const validator = this.#validators.get(tool) ?? createValidator(tool.input);
    this.#validators.set(tool, validator);
    const checked = validator.check(input);
    if (!checked.ok) throw toError(checked.issues);
  }
}

/** Whether a call has begun a job. */
export function isJob(outcome: ToolResult | JobState): outcome is JobState {
  return 'state' in outcome;
}

/** The first thing that is wrong, and what would be accepted. */
function toError(issues: readonly Issue[]): GatewayError {
  const [{ path, keyword, message } = { path: '', keyword: '', message: 'are not accepted' }] = issues;
  const options = path === '' ? {} : { param: path };
  if (keyword === 'required') return new GatewayError('missing_required_parameter', `${path} is required.`, options);
  const allowed = issues.filter((one) => one.path === path && one.keyword === 'const');
  const values = allowed.map(({ params }) => String(params.allowedValue));
  const wanted = values.length === 0 ? message : `must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}`;
  return new GatewayError('invalid_value', `${path === '' ? 'The arguments' : path} ${wanted}.`, options);
}

function runOf({ run, name }: Tool, call: ToolCall): Promise<ToolResult> {
  if (!run) throw new Error(`${name} has neither a job nor a run`);
  return run(call);
}

/** Reports every few seconds that the work goes on. */
async function reported<Result>(work: Promise<Result>, report: Report | undefined): Promise<Result> {
  if (!report) return work;
  let done = 0;
  const timer = setInterval(() => {
    done += REPORT_MS / 1000;
    report({ done, message: `Working, ${done} s` });
  }, REPORT_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

async function waitForJob(jobs: ToolJobs, call: ToolCall, report: Report | undefined): Promise<ToolResult> {
  const begun = await jobs.begin(call, false);
  if (!isJob(begun)) return begun;
  const cancels = call.input.idempotency_key === undefined;
  let job = begun;
  try {
    job = await untilEnded(jobs, call, begun, (latest) => {
      job = latest;
      report?.(progressOf(latest));
    });
  } catch (error) {
    if (call.signal.aborted && cancels && job.state === 'queued') await cancelAlone(jobs, call, job.id);
    throw error;
  }
  return resultOfJob(jobs, call, job);
}

/** The client has left: the cancellation does not end with its request. */
async function cancelAlone(jobs: ToolJobs, call: ToolCall, id: string): Promise<void> {
  await jobs.cancel({ ...call, signal: AbortSignal.timeout(READ_SECONDS * 1000) }, id).catch(() => undefined);
}

type Reading = Omit<ToolCall, 'input'>;

/** Reads the job until it has ended. @throws GatewayError `upstream_unavailable` after ten minutes. */
export async function untilEnded(
  jobs: ToolJobs,
  call: Reading,
  first: JobState,
  note: (job: JobState) => void = () => undefined,
): Promise<JobState> {
  const endsAt = performance.now() + MAX_WAIT_MS;
  let job = first;
  while (isOpen(job)) {
    if (performance.now() > endsAt) {
      const message = `The job ${job.id} has not ended after ${MAX_WAIT_MS / 60_000} minutes. It continues, and its route has the result.`;
      throw new GatewayError('upstream_unavailable', message);
    }
    const askedAt = performance.now();
    job = await jobs.read(call, job.id, READ_SECONDS);
    note(job);
    // A route that does not hold the answer back is asked again at its pace.
    const pauseMs = Math.min(job.pollSeconds * 1000, REPORT_MS);
    if (isOpen(job) && performance.now() - askedAt < pauseMs) await sleep(pauseMs, undefined, { signal: call.signal });
  }
  return job;
}

export function isOpen({ state }: JobState): boolean {
  return state === 'queued' || state === 'running';
}

/** The result of a job that has ended. */
export async function resultOfJob(jobs: ToolJobs, call: Reading, job: JobState): Promise<ToolResult> {
  try {
    if (job.state === 'completed') return await jobs.resultOf(call, job);
    const { code = 'cancelled', message = 'The job was cancelled.' } = errorOf(job) ?? {};
    return {
      isError: true,
      content: [{ type: 'text', text: `${code}: ${message}` }],
      _meta: { 'mediagate/error': { code, message } },
    };
  } catch (error) {
    return failedResult(error);
  }
}

/** Why a job failed, as its route says. */
export function errorOf({ answer }: JobState): { code: string; message: string } | undefined {
  return answer.error ?? answer.data?.job?.error ?? undefined;
}

export function progressOf({ state, message, progress }: JobState): { done: number; total?: number; message: string } {
  const words = message ?? (state === 'queued' ? 'Queued' : 'Working');
  return { done: progress?.done ?? 0, ...(progress && { total: progress.total }), message: words };
}
