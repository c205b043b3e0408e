/*
 * Metrics of background jobs, upstreams and webhooks. The queues are read from the database for all processes, at most
 * once a second for all metrics together; runs, retries and failures are counted in the process where they happen.
 * Requests of plugins are counted in batches of 100, with the outcome as a status class or error code. The states of
 * upstreams and of methods in cool-down are read from the gateway at the scrape.
 */

import type { Registry } from 'prom-client';
import type { Meter, UpstreamState } from '../../core/contracts/index.js';
import type { Jobs } from '../../core/jobs/index.js';
import type { Clock } from '../../core/runtime/index.js';
import type { WebhookOutcome } from '../webhooks/index.js';
import type { AddPolledMetric, MetricSources, Sample } from './metric-sources.js';

/** Minimum interval between two database reads of queue sizes. */
const FRESH_MS = 1_000;
/** Seconds, for work of models and platforms and for queue times. */
const RUN_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600];
/** Seconds, for transactions. */
const COMMIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export type JobMetrics = Omit<Meter, 'upstreamAnswered' | 'extractionAnswered'>;

/** Metrics of background jobs: of the queue over all processes, and of the work of this process. */
export function createJobMetrics(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
  add: AddPolledMetric,
  sources: MetricSources & { clock: Clock },
): JobMetrics {
  const registers = [registry];
  let asked: { at: number; counts: ReturnType<Jobs['counts']> } | undefined;

  async function queueSamples<Kind>(samplesOf: (kind: string, counts: Counts) => Kind[]): Promise<Kind[] | undefined> {
    if (!sources.jobs) return undefined;
    const now = sources.clock.monotonic();
    if (!asked || now - asked.at >= FRESH_MS) asked = { at: now, counts: sources.jobs.counts() };
    return Object.entries(await asked.counts).flatMap(([kind, counts]) => samplesOf(kind, counts));
  }

  add({
    name: 'mediagate_jobs',
    help: 'Background jobs by kind and state, over all processes.',
    labelNames: ['kind', 'state'],
    read: () =>
      queueSamples((kind, { queued, running }): Sample[] => [
        [{ kind, state: 'queued' }, queued],
        [{ kind, state: 'running' }, running],
      ]),
  });
  add({
    name: 'mediagate_job_oldest_queued_seconds',
    help: 'Seconds that the oldest queued job of a kind has waited, over all processes; 0 if none is queued.',
    labelNames: ['kind'],
    read: () => queueSamples((kind, { oldestQueuedMs }): Sample[] => [[{ kind }, oldestQueuedMs / 1000]]),
  });

  const commits = new Histogram({
    name: 'mediagate_job_accept_commit_duration_seconds',
    help: 'Seconds of each transaction that accepts jobs; one transaction accepts all jobs that arrived during the previous one.',
    labelNames: ['kind'],
    buckets: COMMIT_BUCKETS,
    registers,
  });
  const accepted = new Counter({
    name: 'mediagate_job_submissions_total',
    help: 'Submissions handled in those transactions: accepted jobs, replays and refusals.',
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
    help: 'Runs here that were aborted because their lease was lost.',
    labelNames: ['kind'],
    registers,
  });
  const crashCount = new Counter({
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
    jobCutOff: ({ kind, fails }) => crashCount.inc({ kind, outcome: fails ? 'failed' : 'requeued' }),
  };
}

type Counts = Awaited<ReturnType<Jobs['counts']>>['image'];

/** Requests counted in one batch. */
const BATCH = 100;
/** Seconds until the header of an answer, or its end. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];

type Answered = Parameters<Meter['upstreamAnswered']>[0];

export interface UpstreamMetrics extends Pick<Meter, 'upstreamAnswered' | 'extractionAnswered'> {
  /** Counts the pending batch. */
  count(): void;
}

/** Metrics of outgoing requests, and of the upstreams' state. */
export function createUpstreamMetrics(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
  add: AddPolledMetric,
  sources: MetricSources,
): UpstreamMetrics {
  const registers = [registry];
  let uncounted: Answered[] = [];

  const answers = new Histogram({
    name: 'mediagate_upstream_request_duration_seconds',
    help: 'Seconds of each request of a plugin instance, by outcome: 2xx to 5xx, or an error code; for streams, until the header.',
    labelNames: ['entry', 'outcome'],
    buckets: BUCKETS,
    registers,
  });
  const extractions = new Counter({
    name: 'mediagate_extractions_total',
    help: 'Extraction results, by platform and cache use: hit, miss (fetched), stale (the source failed).',
    labelNames: ['platform', 'cache'],
    registers,
  });

  const perUpstream = (value: (state: UpstreamState) => number): Sample[] | undefined =>
    sources.gateway
      ?.plugins()
      .flatMap(({ id: entry, upstreams }) =>
        upstreams.map((state): Sample => [{ entry, upstream: state.name }, value(state)]),
      );
  const labelNames = ['entry', 'upstream'];
  add({
    name: 'mediagate_upstream_tries_total',
    help: 'Requests to each upstream of a model provider.',
    labelNames,
    total: true,
    read: () => perUpstream(({ tries }) => tries),
  });
  add({
    name: 'mediagate_upstream_failures_total',
    help: 'Those requests that failed, without errors that the caller caused.',
    labelNames,
    total: true,
    read: () => perUpstream(({ failures }) => failures),
  });
  add({
    name: 'mediagate_upstream_resting',
    help: '1 while an upstream is in cool-down: its circuit is open, or it asked the gateway to wait.',
    labelNames,
    read: () => perUpstream(({ isCoolingDown }) => (isCoolingDown ? 1 : 0)),
  });
  add({
    name: 'mediagate_method_cooling_down',
    help: '1 while a method of a platform is in cool-down; methods that are not configured are left out.',
    labelNames: ['platform', 'method'],
    read: () =>
      sources.gateway
        ?.platforms()
        .flatMap(({ key: platform, methods }) =>
          methods.flatMap(({ name: method, available, coolDown }): Sample[] =>
            available ? [[{ platform, method }, coolDown ? 1 : 0]] : [],
          ),
        ),
  });

  function count(): void {
    const done = uncounted;
    uncounted = [];
    for (const { entry, outcome, ms } of done) answers.observe({ entry, outcome }, ms / 1000);
  }

  return {
    upstreamAnswered(answered) {
      uncounted.push(answered);
      if (uncounted.length >= BATCH) count();
    },
    extractionAnswered: ({ platform, cache }) => extractions.inc({ platform, cache }),
    count,
  };
}

export interface WebhookMetrics {
  webhookTried(outcome: WebhookOutcome): void;
}

/** Metrics of webhooks: the queue over all processes, and the attempts of this one. */
export function createWebhookMetrics(
  { Counter }: typeof import('prom-client'),
  registry: Registry,
  add: AddPolledMetric,
  sources: MetricSources,
): WebhookMetrics {
  add({
    name: 'mediagate_webhooks_waiting',
    help: 'Webhooks that wait for delivery, over all processes.',
    labelNames: [],
    read: async () => sources.webhooks && [[{}, await sources.webhooks.waiting()]],
  });
  const tries = new Counter({
    name: 'mediagate_webhook_tries_total',
    help: 'Webhook deliveries attempted here, by outcome: delivered, postponed (retried later), gone (410), given_up.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return { webhookTried: (outcome) => tries.inc({ outcome }) };
}
