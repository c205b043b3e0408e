import type { Clock, Meter } from 'mediagate';
import { createLookUps } from './metrics-figures.js';
import { createJobFigures } from './metrics-jobs.js';
import { addNodeFigures } from './metrics-node.js';
import { createRequestFigures, type RequestFigures } from './metrics-requests.js';
import type { MetricSources } from './metrics-sources.js';
import { createUpstreamFigures } from './metrics-upstreams.js';
import { createWebhookFigures, type WebhookFigures } from './metrics-webhooks.js';

export type { FinishedRequest, OpenRequest } from './metrics-requests.js';
export type { MetricSources } from './metrics-sources.js';

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
