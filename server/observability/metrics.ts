import type { Clock, Gateway, Jobs, Meter } from 'mediagate';
import type { Registry } from 'prom-client';
import { type BodyBudget, defineRoute, type Route } from '../http/index.js';
import { roomOf } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import type { Webhooks } from '../webhooks/index.js';
import type { CheckResult } from './health.js';
import { createRequestFigures, type RequestFigures } from './metrics-requests.js';
import { createJobFigures, createUpstreamFigures, createWebhookFigures, type WebhookFigures } from './metrics-work.js';

export type { FinishedRequest, OpenRequest } from './metrics-requests.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    /** Counts requests. Default: nobody does. */
    metrics?: Metrics;
  }
}

const LOOP_RESOLUTION_MS = 100;

export interface MetricsOptions {
  clock: Clock;
}

/** Figures for Prometheus: what is told while it happens, and what is looked up when somebody asks. */
export interface Metrics extends Omit<RequestFigures, 'count'>, WebhookFigures {
  /** For the state and the gateway, which tell it what they do. */
  readonly meter: Meter;
  /** From now on these are looked up, too. */
  watch(sources: MetricSources): void;
  readonly contentType: string;
  /** What there is to say, in the text format of Prometheus; the sizes of queues are at most a second old. */
  render(): Promise<string>;
}

/** Each app has its own registry. Loads prom-client, which nothing needs where no figures are wanted. */
export async function createMetrics({ clock }: MetricsOptions): Promise<Metrics> {
  const prometheus = await import('prom-client');
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS });
  const sources: MetricSources & { clock: Clock } = { clock };
  const add = createLookUps(prometheus, registry);
  const { count, ...requests } = createRequestFigures(prometheus, registry, add, sources);
  const jobs = createJobFigures(prometheus, registry, add, sources);
  const webhooks = createWebhookFigures(prometheus, registry, add, sources);
  const { count: countAnswers, ...upstreams } = createUpstreamFigures(prometheus, registry, add, sources);
  addNodeFigures(add, sources);
  return {
    ...requests,
    ...webhooks,
    meter: { ...jobs, ...upstreams },
    watch: (more) => void Object.assign(sources, more),
    contentType: registry.contentType,
    render() {
      count();
      countAnswers();
      return registry.metrics();
    },
  };
}

/** A value with its labels. */
export type Figure = [labels: Readonly<Record<string, string>>, value: number];

export interface LookedUp {
  name: string;
  help: string;
  labelNames?: readonly string[];
  /** A total that only grows; else a state. Default: a state. */
  total?: boolean;
  /** Undefined or a rejection says nothing at all: the other figures are then the more needed. */
  look(): Promise<readonly Figure[] | undefined> | readonly Figure[] | undefined;
}

/** A figure that somebody else keeps, looked up whenever it is asked for. */
export type AddLookedUp = (figure: LookedUp) => void;

/** @param prometheus prom-client, loaded. */
export function createLookUps(prometheus: typeof import('prom-client'), registry: Registry): AddLookedUp {
  return ({ name, help, labelNames = [], total = false, look }) => {
    const options = { name, help, labelNames, registers: [registry] };
    const lookUp = async () => {
      const figures = await lookOrNot(look);
      // At once from here on: two who ask at the same time would add up.
      metric.reset();
      for (const [labels, value] of figures ?? []) metric.inc(labels, value);
      // A figure without labels is 0 after a reset, which may be a lie.
      if (!figures && labelNames.length === 0) metric.remove();
    };
    const metric: Resettable = total
      ? new prometheus.Counter({ ...options, collect: lookUp })
      : new prometheus.Gauge({ ...options, collect: lookUp });
  };
}

async function lookOrNot(look: LookedUp['look']): Promise<readonly Figure[] | undefined> {
  try {
    return await look();
  } catch {
    // What it asks is away, which the figures of the checks say.
    return undefined;
  }
}

interface Resettable {
  reset(): void;
  remove(): void;
  inc(labels: Readonly<Record<string, string>>, value: number): void;
}

/** What is looked up when somebody asks for figures; what a process does not have, it says nothing of. */
export interface MetricSources {
  jobs?: Pick<Jobs, 'counts'>;
  gateway?: Pick<Gateway, 'models' | 'plugins' | 'platforms'>;
  bodies?: Pick<BodyBudget, 'taken'>;
  /** Whether what the gateway rests on answers, by name. */
  checks?(): Promise<Readonly<Record<string, CheckResult>>>;
  /** Open connections of clients. */
  connections?(): Promise<number>;
  webhooks?: Pick<Webhooks, 'waiting'>;
  /** Milliseconds since the keys in memory were those of the database. */
  keysAgeMs?(): number;
  /** Files that the object store has not got yet. */
  filesAwaiting?(): Promise<number>;
  dataDir?: string;
  /** Finished spans, by what became of them. */
  spans?(): Readonly<Record<'sent' | 'failed' | 'dropped', number>>;
}

/** Figures of this process and of what it rests on. */
export function addNodeFigures(add: AddLookedUp, sources: MetricSources): void {
  add({
    name: 'mediagate_build_info',
    help: '1, with the version that runs.',
    labelNames: ['version'],
    look: () => [[{ version: PACKAGE_VERSION }, 1]],
  });
  add({
    name: 'mediagate_check_up',
    help: '1 where what the gateway rests on answers (database, data_folder, files, cache); 0 where it does not.',
    labelNames: ['check'],
    look: () => perCheck(({ ok }) => (ok ? 1 : 0)),
  });
  add({
    name: 'mediagate_check_duration_seconds',
    help: 'Seconds that it took to answer, 2 at the most.',
    labelNames: ['check'],
    look: () => perCheck(({ ms }) => ms / 1000),
  });
  add({
    name: 'mediagate_key_refresh_age_seconds',
    help: 'Seconds since the keys in memory were those of the database; a few where all is well.',
    look: () => sources.keysAgeMs && [[{}, sources.keysAgeMs() / 1000]],
  });
  add({
    name: 'mediagate_files_awaiting_upload',
    help: 'Files on the disk of this node that the object store has not got yet.',
    look: async () => sources.filesAwaiting && [[{}, await sources.filesAwaiting()]],
  });
  add({
    name: 'mediagate_data_folder_free_bytes',
    help: 'Bytes that are free on the file system of the data folder.',
    look: () => room(({ free }) => free),
  });
  add({
    name: 'mediagate_data_folder_size_bytes',
    help: 'Bytes that this file system has.',
    look: () => room(({ size }) => size),
  });
  add({
    name: 'mediagate_trace_spans_total',
    help: 'Finished spans by outcome: sent, failed (the collector did not take them), dropped (there was no room).',
    labelNames: ['outcome'],
    total: true,
    look: () =>
      sources.spans && Object.entries(sources.spans()).map(([outcome, count]): Figure => [{ outcome }, count]),
  });

  async function room(value: (room: Awaited<ReturnType<typeof roomOf>>) => number): Promise<Figure[] | undefined> {
    return sources.dataDir === undefined ? undefined : [[{}, value(await roomOf(sources.dataDir))]];
  }

  async function perCheck(value: (result: { ok: boolean; ms: number }) => number): Promise<Figure[] | undefined> {
    const results = await sources.checks?.();
    return results && Object.entries(results).map(([check, result]) => [{ check }, value(result)]);
  }
}

/** Figures for Prometheus. No key needed; no key, account or link is named in them. */
export function metricsRoutes(metrics: Metrics): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/metrics',
      grant: 'none',
      tag: 'Process',
      summary: 'Figures for Prometheus',
      description: 'Figures for Prometheus. On a listener of their own unless `METRICS_PUBLIC` is on.',
      answers: { 200: { description: 'In its text format.', type: 'text/plain' } },
      async handler(context) {
        context.body = await metrics.render();
        context.set('Content-Type', metrics.contentType);
      },
    }),
  ];
}
