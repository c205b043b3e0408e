/*
 * Prometheus metrics: some are counted as events happen, others are read at each scrape. The library is loaded only if
 * metrics are configured, and each app has a registry of its own. The text contains no key, account or link; it is
 * served on a listener of its own unless the operator makes it public.
 */

import type { Registry } from 'prom-client';
import type { Meter } from '../../core/contracts/index.js';
import { type Clock, noSiblings, type Siblings } from '../../core/runtime/index.js';
import { defineRoute, type Route } from '../http/index.js';
import { roomOf } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { SAMPLES } from './ended-samples.js';
import { type MetricSources, MetricsRegistry, type Sample } from './metrics-registry.js';
import { RequestMetrics } from './metrics-requests.js';
import { addProbeMetrics, WebhookMetrics, WorkMetrics } from './metrics-work.js';

const LOOP_RESOLUTION_MS = 100;

/** Topic on which workers ask each other for their samples. */

export interface MetricsOptions {
  clock: Clock;
  /** Other workers of this machine, whose samples belong to the same metrics. Default: none. */
  siblings?: Siblings;
}

/** Prometheus metrics: some are counted as events happen, others are read at each scrape. */
export class Metrics {
  readonly requests: RequestMetrics;
  readonly webhooks: WebhookMetrics;
  readonly #work: WorkMetrics;
  readonly #prometheus: typeof import('prom-client');
  readonly #registry: Registry;
  readonly #sources: MetricSources = {};
  readonly #siblings: Siblings;

  /** @param prometheus prom-client, loaded. */
  constructor(prometheus: typeof import('prom-client'), { clock, siblings = noSiblings }: MetricsOptions) {
    const registry = new prometheus.Registry();
    prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS });
    const metrics = new MetricsRegistry(prometheus, registry);
    this.#prometheus = prometheus;
    this.#registry = registry;
    this.#siblings = siblings;
    this.requests = new RequestMetrics(metrics, this.#sources);
    this.#work = new WorkMetrics(metrics, this.#sources, clock);
    this.webhooks = new WebhookMetrics(metrics, this.#sources);
    addProbeMetrics(metrics, this.#sources);
    addNodeMetrics(metrics, this.#sources);
    siblings.answer(SAMPLES, () => this.#samples());
  }

  /** Receives events of the state and the gateway. */
  get meter(): Meter {
    return this.#work;
  }

  /** Adds sources that are read from now on. */
  watch(sources: MetricSources): void {
    Object.assign(this.#sources, sources);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in the text format of Prometheus; queue sizes are at most a second old. */
  async render(): Promise<string> {
    if (this.#siblings === noSiblings) {
      this.#count();
      return this.#registry.metrics();
    }
    const own = await this.#samples();
    const { running, ended = [] } = await this.#siblings.ask(SAMPLES, own);
    return this.#prometheus.AggregatorRegistry.aggregate([own, ...running, ended] as object[]).metrics();
  }

  #samples() {
    this.#count();
    return this.#registry.getMetricsAsJSON();
  }

  #count(): void {
    this.requests.count();
    this.#work.count();
  }
}

/** Each app has its own registry. Loads prom-client, which is not needed without metrics. */
export async function createMetrics(options: MetricsOptions): Promise<Metrics> {
  return new Metrics(await import('prom-client'), options);
}

/** Metrics of this process and of its dependencies. */
function addNodeMetrics(metrics: MetricsRegistry, sources: MetricSources): void {
  metrics.poll({
    name: 'mediagate_build_info',
    help: '1, with the running version as a label.',
    labelNames: ['version'],
    read: () => [[{ version: PACKAGE_VERSION }, 1]],
  });
  metrics.poll({
    name: 'mediagate_check_up',
    help: '1 if a dependency answers (database, data_folder, files, cache), otherwise 0.',
    labelNames: ['check'],
    merge: 'min',
    read: () => perCheck(({ ok }) => (ok ? 1 : 0)),
  });
  metrics.poll({
    name: 'mediagate_check_duration_seconds',
    help: 'Seconds until the dependency answered, at most 2.',
    labelNames: ['check'],
    read: () => perCheck(({ ms }) => ms / 1000),
  });
  metrics.poll({
    name: 'mediagate_key_refresh_age_seconds',
    help: 'Seconds since the keys in memory were refreshed from the database; normally below 3.',
    read: () => sources.keysAgeMs && [[{}, sources.keysAgeMs() / 1000]],
  });
  metrics.poll({
    name: 'mediagate_files_awaiting_upload',
    help: 'Files on the disk of this node that are not in the object store yet.',
    read: async () => sources.filesAwaiting && [[{}, await sources.filesAwaiting()]],
  });
  metrics.poll({
    name: 'mediagate_data_folder_free_bytes',
    help: 'Free bytes on the file system of the data folder.',
    read: () => room(({ free }) => free),
  });
  metrics.poll({
    name: 'mediagate_data_folder_size_bytes',
    help: 'Total bytes of the file system of the data folder.',
    read: () => room(({ size }) => size),
  });
  metrics.poll({
    name: 'mediagate_alerts',
    help: 'Alerts that are not closed, by kind and state (open, acknowledged), over all processes.',
    labelNames: ['kind', 'state'],
    read: async () =>
      (await sources.alerts?.counts())?.flatMap(({ kind, open, acknowledged }): Sample[] => [
        [{ kind, state: 'open' }, open],
        [{ kind, state: 'acknowledged' }, acknowledged],
      ]),
  });
  metrics.poll({
    name: 'mediagate_trace_spans_total',
    help: 'Finished spans by outcome: sent, failed (refused by the collector), dropped (the queue was full).',
    labelNames: ['outcome'],
    total: true,
    read: () =>
      sources.spans && Object.entries(sources.spans()).map(([outcome, count]): Sample => [{ outcome }, count]),
  });

  async function room(value: (room: Awaited<ReturnType<typeof roomOf>>) => number): Promise<Sample[] | undefined> {
    return sources.dataDir === undefined ? undefined : [[{}, value(await roomOf(sources.dataDir))]];
  }

  async function perCheck(value: (result: { ok: boolean; ms: number }) => number): Promise<Sample[] | undefined> {
    const results = await sources.checks?.();
    return results && Object.entries(results).map(([check, result]) => [{ check }, value(result)]);
  }
}

/** Metrics for Prometheus. No key needed; they contain no key, account or link. */
export function metricsRoutes(metrics: Metrics): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/metrics',
      grant: 'none',
      tag: 'Process',
      summary: 'Metrics',
      description: 'Metrics in the Prometheus format. They have a listener of their own unless `METRICS_PUBLIC` is on.',
      answers: { 200: { description: 'In its text format.', type: 'text/plain' } },
      async handler(context) {
        context.body = await metrics.render();
        context.set('Content-Type', metrics.contentType);
      },
    }),
  ];
}
