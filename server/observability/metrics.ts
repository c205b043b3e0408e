/*
 * Prometheus metrics: some are counted as events happen, others are read at each scrape. The library is loaded only if
 * metrics are configured, and each app has a registry of its own. A polled metric whose source fails is left out of
 * that scrape, so the others are still available. Samples are set synchronously after they were read, since two
 * concurrent scrapes would otherwise add up. The text contains no key, account or link; it is served on a listener of
 * its own unless the operator makes it public.
 */

import type { Registry } from 'prom-client';
import type { Meter } from '../../core/contracts/index.js';
import { type Clock, noSiblings, type Siblings } from '../../core/runtime/index.js';
import { defineRoute, type Route } from '../http/index.js';
import { roomOf } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import type { AddPolledMetric, MetricSources, PolledMetric, Sample } from './metric-sources.js';
import { createRequestMetrics, type RequestMetrics } from './metrics-requests.js';
import { createJobMetrics, createUpstreamMetrics, createWebhookMetrics, type WebhookMetrics } from './metrics-work.js';

export type { FinishedRequest, OpenRequest } from './metrics-requests.js';

const LOOP_RESOLUTION_MS = 100;

/** Topic on which workers ask each other for their samples. */
const SAMPLES = 'metrics';

export interface MetricsOptions {
  clock: Clock;
  /** Other workers of this machine, whose samples belong to the same metrics. Default: none. */
  siblings?: Siblings;
}

/** Prometheus metrics: some are counted as events happen, others are read at each scrape. */
export interface Metrics extends Omit<RequestMetrics, 'count'>, WebhookMetrics {
  /** Receives events of the state and the gateway. */
  readonly meter: Meter;
  /** Adds sources that are read from now on. */
  watch(sources: MetricSources): void;
  readonly contentType: string;
  /** All metrics in the text format of Prometheus; queue sizes are at most a second old. */
  render(): Promise<string>;
}

/** Each app has its own registry. Loads prom-client, which is not needed without metrics. */
export async function createMetrics({ clock, siblings = noSiblings }: MetricsOptions): Promise<Metrics> {
  const prometheus = await import('prom-client');
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS });
  const sources: MetricSources & { clock: Clock } = { clock };
  const add = createPolledMetrics(prometheus, registry);
  const { count, ...requests } = createRequestMetrics(prometheus, registry, add, sources);
  const jobs = createJobMetrics(prometheus, registry, add, sources);
  const webhooks = createWebhookMetrics(prometheus, registry, add, sources);
  const { count: countAnswers, ...upstreams } = createUpstreamMetrics(prometheus, registry, add, sources);
  addNodeMetrics(add, sources);
  const samples = () => {
    count();
    countAnswers();
    return registry.getMetricsAsJSON();
  };
  siblings.answer(SAMPLES, samples);
  return {
    ...requests,
    ...webhooks,
    meter: { ...jobs, ...upstreams },
    watch: (more) => void Object.assign(sources, more),
    contentType: registry.contentType,
    async render() {
      if (siblings === noSiblings) {
        count();
        countAnswers();
        return registry.metrics();
      }
      const own = await samples();
      const { running, ended = [] } = await siblings.ask(SAMPLES, own);
      return prometheus.AggregatorRegistry.aggregate([own, ...running, ended] as object[]).metrics();
    },
  };
}

/** @param prometheus prom-client, loaded. */
export function createPolledMetrics(prometheus: typeof import('prom-client'), registry: Registry): AddPolledMetric {
  return ({ name, help, labelNames = [], total = false, merge = total ? 'sum' : 'max', read }) => {
    const options = { name, help, labelNames, aggregator: merge, registers: [registry] };
    const collect = async () => {
      const samples = await readOrSkip(read);
      // Synchronous from here on: two concurrent scrapes would add up.
      metric.reset();
      for (const [labels, value] of samples ?? []) metric.inc(labels, value);
      // A metric without labels is 0 after a reset, which may be wrong.
      if (!samples && labelNames.length === 0) metric.remove();
    };
    const metric: Resettable = total
      ? new prometheus.Counter({ ...options, collect: collect })
      : new prometheus.Gauge({ ...options, collect: collect });
  };
}

async function readOrSkip(read: PolledMetric['read']): Promise<readonly Sample[] | undefined> {
  try {
    return await read();
  } catch {
    // The source is unavailable, which the metrics of the checks show.
    return undefined;
  }
}

interface Resettable {
  reset(): void;
  remove(): void;
  inc(labels: Readonly<Record<string, string>>, value: number): void;
}

/** Metrics of this process and of its dependencies. */
export function addNodeMetrics(add: AddPolledMetric, sources: MetricSources): void {
  add({
    name: 'mediagate_build_info',
    help: '1, with the running version as a label.',
    labelNames: ['version'],
    read: () => [[{ version: PACKAGE_VERSION }, 1]],
  });
  add({
    name: 'mediagate_check_up',
    help: '1 if a dependency answers (database, data_folder, files, cache), otherwise 0.',
    labelNames: ['check'],
    merge: 'min',
    read: () => perCheck(({ ok }) => (ok ? 1 : 0)),
  });
  add({
    name: 'mediagate_check_duration_seconds',
    help: 'Seconds until the dependency answered, at most 2.',
    labelNames: ['check'],
    read: () => perCheck(({ ms }) => ms / 1000),
  });
  add({
    name: 'mediagate_key_refresh_age_seconds',
    help: 'Seconds since the keys in memory were refreshed from the database; normally below 3.',
    read: () => sources.keysAgeMs && [[{}, sources.keysAgeMs() / 1000]],
  });
  add({
    name: 'mediagate_files_awaiting_upload',
    help: 'Files on the disk of this node that are not in the object store yet.',
    read: async () => sources.filesAwaiting && [[{}, await sources.filesAwaiting()]],
  });
  add({
    name: 'mediagate_data_folder_free_bytes',
    help: 'Free bytes on the file system of the data folder.',
    read: () => room(({ free }) => free),
  });
  add({
    name: 'mediagate_data_folder_size_bytes',
    help: 'Total bytes of the file system of the data folder.',
    read: () => room(({ size }) => size),
  });
  add({
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
