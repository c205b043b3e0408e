/*
 * Metrics of background jobs, upstreams and webhooks. The queues are read from the database for all processes, at most
 * once a second for all metrics together; runs, retries and failures are counted in the process where they happen.
 * Requests of plugins are counted in batches of 100, with the outcome as a status class or error code. The states of
 * upstreams and of methods in cool-down are read from the gateway at the scrape.
 */

import type { Counter } from 'prom-client';
import type { Meter, UpstreamState } from '../../core/contracts/index.js';
import type { Jobs } from '../../core/jobs/index.js';
import type { Clock } from '../../core/runtime/index.js';
import type { ProbeResult } from '../probes/index.js';
import type { WebhookOutcome } from '../webhooks/index.js';
import type { MetricSources, MetricsRegistry, Sample } from './metrics-registry.js';

/** Minimum interval between two database reads of queue sizes. */
const FRESH_MS = 1_000;
/** Seconds, for work of models and platforms and for queue times. */
const RUN_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600];
/** Seconds, for transactions. */
const COMMIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Requests counted in one batch. */
const BATCH = 100;
/** Seconds until the header of an answer, or its end. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];

type Counts = Awaited<ReturnType<Jobs['counts']>>['image'];
type Answered = Parameters<Meter['upstreamAnswered']>[0];

/** Metrics of background jobs and of outgoing requests: events of this process, and the state that is shared. */
export class WorkMetrics implements Meter {
  readonly #counters: ReturnType<typeof countersOf>;
  readonly #sources: MetricSources;
  readonly #clock: Clock;
  #asked: { at: number; counts: ReturnType<Jobs['counts']> } | undefined;
  #uncounted: Answered[] = [];

  constructor(metrics: MetricsRegistry, sources: MetricSources, clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
    this.#pollQueues(metrics);
    this.#counters = countersOf(metrics);
    this.#pollUpstreams(metrics);
  }

  jobsAccepted({ kind, jobs, ms }: Parameters<Meter['jobsAccepted']>[0]): void {
    this.#counters.commits.observe({ kind }, ms / 1000);
    this.#counters.accepted.inc({ kind }, jobs);
  }

  jobBegun({ kind, attempt, waitedMs }: Parameters<Meter['jobBegun']>[0]): void {
    if (waitedMs !== undefined) this.#counters.waits.observe({ kind }, waitedMs / 1000);
    if (attempt > 1) this.#counters.retries.inc({ kind });
  }

  jobRunEnded({ kind, outcome, ms, code }: Parameters<Meter['jobRunEnded']>[0]): void {
    this.#counters.runs.observe({ kind, outcome }, ms / 1000);
    if (outcome === 'failed' && code !== undefined) this.#counters.failures.inc({ kind, code });
  }

  leaseLost({ kind }: Parameters<Meter['leaseLost']>[0]): void {
    this.#counters.leases.inc({ kind });
  }

  jobCutOff({ kind, fails }: Parameters<Meter['jobCutOff']>[0]): void {
    this.#counters.cutOffs.inc({ kind, outcome: fails ? 'failed' : 'requeued' });
  }

  upstreamAnswered(answered: Answered): void {
    this.#uncounted.push(answered);
    if (this.#uncounted.length >= BATCH) this.count();
  }

  extractionAnswered({ platform, cache }: Parameters<Meter['extractionAnswered']>[0]): void {
    this.#counters.extractions.inc({ platform, cache });
  }

  /** Counts the pending batch. */
  count(): void {
    const done = this.#uncounted;
    this.#uncounted = [];
    for (const { entry, outcome, ms } of done) this.#counters.answers.observe({ entry, outcome }, ms / 1000);
  }

  #pollQueues(metrics: MetricsRegistry): void {
    metrics.poll({
      name: 'mediagate_jobs',
      help: 'Background jobs by kind and state, over all processes.',
      labelNames: ['kind', 'state'],
      read: () =>
        this.#queueSamples((kind, { queued, running }) => [
          [{ kind, state: 'queued' }, queued],
          [{ kind, state: 'running' }, running],
        ]),
    });
    metrics.poll({
      name: 'mediagate_job_oldest_queued_seconds',
      help: 'Seconds that the oldest queued job of a kind has waited, over all processes; 0 if none is queued.',
      labelNames: ['kind'],
      read: () => this.#queueSamples((kind, { oldestQueuedMs }) => [[{ kind }, oldestQueuedMs / 1000]]),
    });
  }

  async #queueSamples(samplesOf: (kind: string, counts: Counts) => Sample[]): Promise<Sample[] | undefined> {
    const { jobs } = this.#sources;
    if (!jobs) return undefined;
    const now = this.#clock.monotonic();
    if (!this.#asked || now - this.#asked.at >= FRESH_MS) this.#asked = { at: now, counts: jobs.counts() };
    return Object.entries(await this.#asked.counts).flatMap(([kind, counts]) => samplesOf(kind, counts));
  }

  #pollUpstreams(metrics: MetricsRegistry): void {
    const labelNames = ['entry', 'upstream'];
    metrics.poll({
      name: 'mediagate_upstream_tries_total',
      help: 'Requests to each upstream of a model provider.',
      labelNames,
      total: true,
      read: () => this.#perUpstream(({ tries }) => tries),
    });
    metrics.poll({
      name: 'mediagate_upstream_failures_total',
      help: 'Those requests that failed, without errors that the caller caused.',
      labelNames,
      total: true,
      read: () => this.#perUpstream(({ failures }) => failures),
    });
    metrics.poll({
      name: 'mediagate_upstream_resting',
      help: '1 while an upstream is in cool-down: its circuit is open, or it asked the gateway to wait.',
      labelNames,
      read: () => this.#perUpstream(({ isCoolingDown }) => (isCoolingDown ? 1 : 0)),
    });
    metrics.poll({
      name: 'mediagate_method_cooling_down',
      help: '1 while a method of a platform is in cool-down; methods that are not configured are left out.',
      labelNames: ['platform', 'method'],
      read: () => this.#methodSamples(),
    });
  }

  #perUpstream(value: (state: UpstreamState) => number): Sample[] | undefined {
    const plugins = this.#sources.gateway?.plugins();
    return plugins?.flatMap(({ id: entry, upstreams }) =>
      upstreams.map((state): Sample => [{ entry, upstream: state.name }, value(state)]),
    );
  }

  #methodSamples(): Sample[] | undefined {
    const platforms = this.#sources.gateway?.platforms();
    return platforms?.flatMap(({ key: platform, methods }) =>
      methods
        .filter(({ available }) => available)
        .map(({ name: method, coolDown }): Sample => [{ platform, method }, coolDown ? 1 : 0]),
    );
  }
}

function countersOf(metrics: MetricsRegistry) {
  return {
    commits: metrics.histogram(
      'mediagate_job_accept_commit_duration_seconds',
      'Seconds of each transaction that accepts jobs; one transaction accepts all jobs that arrived during the previous one.',
      ['kind'],
      COMMIT_BUCKETS,
    ),
    accepted: metrics.counter(
      'mediagate_job_submissions_total',
      'Submissions handled in those transactions: accepted jobs, replays and refusals.',
      ['kind'],
    ),
    waits: metrics.histogram(
      'mediagate_job_wait_seconds',
      'Seconds from the acceptance of a job until its first run began here.',
      ['kind'],
      RUN_BUCKETS,
    ),
    runs: metrics.histogram(
      'mediagate_job_run_duration_seconds',
      'Seconds of each run here, by outcome: completed, failed, cancelled, given_back, refused (stale), lost.',
      ['kind', 'outcome'],
      RUN_BUCKETS,
    ),
    retries: metrics.counter('mediagate_job_retries_total', 'Runs that were not the first of their job.', ['kind']),
    failures: metrics.counter('mediagate_job_failures_total', 'Jobs that failed in a run here, by error code.', [
      'kind',
      'code',
    ]),
    leases: metrics.counter(
      'mediagate_job_lease_losses_total',
      'Runs here that were aborted because their lease was lost.',
      ['kind'],
    ),
    cutOffs: metrics.counter(
      'mediagate_job_cut_offs_total',
      'Runs of dead processes that this one ended, by outcome: requeued, failed.',
      ['kind', 'outcome'],
    ),
    answers: metrics.histogram(
      'mediagate_upstream_request_duration_seconds',
      'Seconds of each request of a plugin instance, by outcome: 2xx to 5xx, or an error code; for streams, until the header.',
      ['entry', 'outcome'],
      BUCKETS,
    ),
    extractions: metrics.counter(
      'mediagate_extractions_total',
      'Extraction results, by platform and cache use: hit, miss (fetched), stale (the source failed).',
      ['platform', 'cache'],
    ),
  };
}

/** Metrics of the last live probe of each platform, over all processes. */
export function addProbeMetrics(metrics: MetricsRegistry, sources: MetricSources): void {
  const samples = async (samplesOf: (result: ProbeResult) => Sample[]) =>
    (await sources.probes?.latest())?.flatMap(samplesOf);
  metrics.poll({
    name: 'mediagate_probe_time_seconds',
    help: 'When the last live probe of a platform ended, in seconds since 1970.',
    labelNames: ['platform'],
    read: () => samples(({ platform, at }) => [[{ platform }, at / 1000]]),
  });
  metrics.poll({
    name: 'mediagate_probe_checks',
    help: 'Checks of the last live probe of a platform, by outcome: passed, failed.',
    labelNames: ['platform', 'outcome'],
    read: () =>
      samples(({ platform, passed, failed }) => [
        [{ platform, outcome: 'passed' }, passed],
        [{ platform, outcome: 'failed' }, failed],
      ]),
  });
}

/** Metrics of webhooks: the queue over all processes, and the attempts of this one. */
export class WebhookMetrics {
  readonly #tries: Counter<'outcome'>;

  constructor(metrics: MetricsRegistry, sources: MetricSources) {
    metrics.poll({
      name: 'mediagate_webhooks_waiting',
      help: 'Webhooks that wait for delivery, over all processes.',
      read: async () => sources.webhooks && [[{}, await sources.webhooks.waiting()]],
    });
    this.#tries = metrics.counter(
      'mediagate_webhook_tries_total',
      'Webhook deliveries attempted here, by outcome: delivered, postponed (retried later), gone (410), given_up.',
      ['outcome'],
    );
  }

  tried(outcome: WebhookOutcome): void {
    this.#tries.inc({ outcome });
  }
}
