import type { Clock, Jobs, Meter } from 'mediagate';
import type { Registry } from 'prom-client';
import type { AddLookedUp, Figure } from './metrics-figures.js';
import type { MetricSources } from './metrics-sources.js';

/** The database is asked for the sizes of queues no more often. */
const FRESH_MS = 1_000;
/** Seconds, for work of models and platforms and the waiting for it. */
const RUN_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600];
/** Seconds, for transactions. */
const COMMIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export type JobFigures = Omit<Meter, 'upstreamAnswered' | 'extractionAnswered'>;

/** Figures of background jobs: of the queue over all processes, and of what this process did. */
export function createJobFigures(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
  add: AddLookedUp,
  sources: MetricSources & { clock: Clock },
): JobFigures {
  const registers = [registry];
  let asked: { at: number; counts: ReturnType<Jobs['counts']> } | undefined;

  async function queueFigures<Kind>(figuresOf: (kind: string, counts: Counts) => Kind[]): Promise<Kind[] | undefined> {
    if (!sources.jobs) return undefined;
    const now = sources.clock.monotonic();
    if (!asked || now - asked.at >= FRESH_MS) asked = { at: now, counts: sources.jobs.counts() };
    return Object.entries(await asked.counts).flatMap(([kind, counts]) => figuresOf(kind, counts));
  }

  add({
    name: 'mediagate_jobs',
    help: 'Background jobs by kind and state, over all processes.',
    labelNames: ['kind', 'state'],
    look: () =>
      queueFigures((kind, { queued, running }): Figure[] => [
        [{ kind, state: 'queued' }, queued],
        [{ kind, state: 'running' }, running],
      ]),
  });
  add({
    name: 'mediagate_job_oldest_queued_seconds',
    help: 'How long the oldest queued job of a kind has waited, over all processes; 0 where none is queued.',
    labelNames: ['kind'],
    look: () => queueFigures((kind, { oldestQueuedMs }): Figure[] => [[{ kind }, oldestQueuedMs / 1000]]),
  });

  const commits = new Histogram({
    name: 'mediagate_job_accept_commit_duration_seconds',
    help: 'Seconds of each transaction that accepts jobs; one accepts all that came while the one before it ran.',
    labelNames: ['kind'],
    buckets: COMMIT_BUCKETS,
    registers,
  });
  const accepted = new Counter({
    name: 'mediagate_job_submissions_total',
    help: 'Submissions that were decided upon in those transactions: jobs, replays and refusals.',
    labelNames: ['kind'],
    registers,
  });
  const waits = new Histogram({
    name: 'mediagate_job_wait_seconds',
    help: 'Seconds from the acceptance of a job until its first run began here.',
    labelNames: ['kind'],
    buckets: RUN_BUCKETS,
    registers,
  });
  const runs = new Histogram({
    name: 'mediagate_job_run_duration_seconds',
    help: 'Seconds of each run here, by outcome: completed, failed, cancelled, given_back, refused (stale), lost.',
    labelNames: ['kind', 'outcome'],
    buckets: RUN_BUCKETS,
    registers,
  });
  const retries = new Counter({
    name: 'mediagate_job_retries_total',
    help: 'Runs that were not the first of their job.',
    labelNames: ['kind'],
    registers,
  });
  const failures = new Counter({
    name: 'mediagate_job_failures_total',
    help: 'Jobs that failed in a run here, by error code.',
    labelNames: ['kind', 'code'],
    registers,
  });
  const leases = new Counter({
    name: 'mediagate_job_lease_losses_total',
    help: 'Runs here that were aborted since their lease was lost.',
    labelNames: ['kind'],
    registers,
  });
  const cutOffs = new Counter({
    name: 'mediagate_job_cut_offs_total',
    help: 'Runs of dead processes that this one ended, by outcome: requeued, failed.',
    labelNames: ['kind', 'outcome'],
    registers,
  });

  return {
    jobsAccepted({ kind, jobs, ms }) {
      commits.observe({ kind }, ms / 1000);
      accepted.inc({ kind }, jobs);
    },
    jobBegun({ kind, attempt, waitedMs }) {
      if (waitedMs !== undefined) waits.observe({ kind }, waitedMs / 1000);
      if (attempt > 1) retries.inc({ kind });
    },
    jobRunEnded({ kind, outcome, ms, code }) {
      runs.observe({ kind, outcome }, ms / 1000);
      if (outcome === 'failed' && code !== undefined) failures.inc({ kind, code });
    },
    leaseLost: ({ kind }) => leases.inc({ kind }),
    jobCutOff: ({ kind, fails }) => cutOffs.inc({ kind, outcome: fails ? 'failed' : 'requeued' }),
  };
}

type Counts = Awaited<ReturnType<Jobs['counts']>>['image'];
