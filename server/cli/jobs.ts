import type { JobKind, JobList, JobState, ListedJob } from 'mediagate';
import { isoTime, renderDuration, renderTable, shown } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import type { Records } from '../state.js';
import { grouped } from '../usage/index.js';
import { withState } from './command-state.js';
import { renderLease, renderWait } from './job-lease.js';
import { CommandFailure, CommandMistake, print, printJson } from './output.js';
import { limitOf } from './users.js';

const KINDS: readonly JobKind[] = ['image', 'extraction'];
const STATES: readonly JobState[] = ['queued', 'running', 'completed', 'failed', 'cancelled'];

const HEAD = ['ID', 'KIND', 'STATE', 'AGE', 'IN STATE', 'RUNS', 'ACCOUNT', 'KEY', 'WORKER', 'WHY'];

/** Times are of one moment. */
type Moment = Pick<JobList, 'at' | 'leaseMs'>;

export interface ListJobsOptions {
  kind?: string;
  state?: string;
  account?: string;
  limit?: string;
  before?: string;
  json?: boolean;
}

/** Prints jobs and, for people, how many there are of each state. */
export async function listJobsCommand(settings: Settings, options: ListJobsOptions): Promise<number> {
  const { account: accountId, before, json } = options;
  const kind = oneOf(KINDS, '--kind', options.kind);
  const state = oneOf(STATES, '--state', options.state);
  const page = { limit: limitOf(options.limit), kind, state, owner: accountId, before };
  const { list, counts } = await withState(settings, async ({ jobs }) => {
    const found = await jobs.list(page);
    return { list: found, counts: json ? [] : await countLines(jobs) };
  });
  if (json) printJson(list.jobs.map((job) => describeJob(job, list)));
  else {
    const rows = list.jobs.map((job) => row(job, list));
    const none = state ? 'There are no such jobs.' : 'No such job waits or runs; --state lists those that have ended.';
    const table = rows.length === 0 ? none : renderTable(HEAD, rows);
    print(`${table}\n\n${counts.join('\n')}\n`);
  }
  return 0;
}

function oneOf<Name extends string>(names: readonly Name[], option: string, text: string | undefined) {
  if (text === undefined) return undefined;
  const found = names.find((name) => name === text);
  if (found) return found;
  throw new CommandMistake(`${option} must be one of ${names.join(', ')}.`);
}

async function countLines(jobs: Records['jobs']): Promise<string[]> {
  const [active, recent] = await Promise.all([jobs.counts(), jobs.recentEnds()]);
  return KINDS.map((kind) => {
    const { queued, running } = active[kind];
    const { completed, failed, cancelled } = recent[kind];
    const now = `${grouped(queued)} queued, ${grouped(running)} running`;
    const ended = `${grouped(completed)} completed, ${grouped(failed)} failed, ${grouped(cancelled)} cancelled`;
    return `${kind}: ${now}; within the last hour ${ended}`;
  });
}

/** As `--json` prints a job. */
export function describeJob(job: ListedJob, moment: Moment) {
  const { id, kind, state, owner, keyId, joined, attempts, cutOffs, createdAt, startedAt, finishedAt, error } = job;
  const inStateMs = inState(job, moment);
  return {
    id,
    kind,
    state,
    account: owner,
    joined,
    key: keyId,
    runs: attempts,
    cut_offs: cutOffs,
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
  const { host, pid, seenAt, hasEnded } = worker;
  const leaseSecondsLeft = seconds(seenAt + leaseMs - at);
  return { host, pid, ended: hasEnded, seen_at: isoTime(seenAt), lease_seconds_left: leaseSecondsLeft };
}

function seconds(ms: number): number {
  return Math.max(0, Math.floor(ms / 1000));
}

/** Since when a job waits again that ran before, nobody wrote down. */
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

export function renderWorker({ host, pid }: NonNullable<ListedJob['worker']>): string {
  return `${shown(host)}:${pid}`;
}

function renderWhy(job: ListedJob, moment: Moment): string {
  if (job.state === 'queued') return renderWait(job);
  if (job.worker) return renderLease(job.worker, moment);
  return job.error?.code ?? '-';
}

export function unknownJob(id: string): CommandFailure {
  return new CommandFailure(`There is no job ${shown(id)}; "mediagate jobs list" shows them.`);
}
