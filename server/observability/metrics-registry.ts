/*
 * The metrics of one app, and what they are read from. Counters and histograms count as events happen; polled metrics
 * are read at each scrape. A polled metric whose source fails is left out of that scrape, so the others are still
 * available. Samples are set synchronously after they were read, since two concurrent scrapes would otherwise add up.
 */

import type { Gateway } from 'mediagate';
import type { Counter, Histogram, Registry } from 'prom-client';
import type { Jobs } from '../../core/jobs/index.js';
import type { Alerts } from '../alerts/index.js';
import type { BodyBudget } from '../http/index.js';
import type { ProbeResults } from '../probes/index.js';
import type { Webhooks } from '../webhooks/index.js';
import type { CheckResult } from './health.js';

/** A value with its labels. */
export type Sample = [labels: Readonly<Record<string, string>>, value: number];

/** Sources that are read at each scrape; metrics of missing sources are omitted. */
export interface MetricSources {
  jobs?: Pick<Jobs, 'counts'>;
  gateway?: Pick<Gateway, 'models' | 'plugins' | 'platforms'>;
  bodies?: Pick<BodyBudget, 'taken'>;
  /** Whether the gateway's dependencies answer, by name. */
  checks?(): Promise<Readonly<Record<string, CheckResult>>>;
  /** Open client connections. */
  connections?(): Promise<number>;
  webhooks?: Pick<Webhooks, 'waiting'>;
  alerts?: Pick<Alerts, 'counts'>;
  /** The last live probe of each platform. */
  probes?: Pick<ProbeResults, 'latest'>;
  /** Age of the keys in memory, in milliseconds. */
  keysAgeMs?(): number;
  /** Files that are not uploaded to the object store yet. */
  filesAwaiting?(): Promise<number>;
  dataDir?: string;
  /** Finished spans by result. */
  spans?(): Readonly<Record<'sent' | 'failed' | 'dropped', number>>;
}

export interface PolledMetric {
  name: string;
  help: string;
  labelNames?: readonly string[];
  /** A counter that only grows; otherwise a gauge. Default: a gauge. */
  total?: boolean;
  /** The value of several workers of a machine. Default: the sum of counters, and the highest of gauges, most of which all read alike. */
  merge?: 'sum' | 'max' | 'min';
  /** Undefined or a rejection omits the metric, so that the others are still available. */
  read(): Promise<readonly Sample[] | undefined> | readonly Sample[] | undefined;
}

export class MetricsRegistry {
  readonly #prometheus: typeof import('prom-client');
  readonly #registry: Registry;

  /** @param prometheus prom-client, loaded. */
  constructor(prometheus: typeof import('prom-client'), registry: Registry) {
    this.#prometheus = prometheus;
    this.#registry = registry;
  }

  counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new this.#prometheus.Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  /** @param buckets Upper bounds, in seconds. */
  histogram<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    buckets: number[],
  ): Histogram<Label> {
    return new this.#prometheus.Histogram({ name, help, labelNames, buckets, registers: [this.#registry] });
  }

  /** Adds a metric that is read at each scrape. */
  poll({ name, help, labelNames = [], total = false, merge = total ? 'sum' : 'max', read }: PolledMetric): void {
    const collect = async () => {
      const samples = await readOrSkip(read);
      // Synchronous from here on: two concurrent scrapes would add up.
      metric.reset();
      for (const [labels, value] of samples ?? []) metric.inc(labels, value);
      // A metric without labels is 0 after a reset, which may be wrong.
      if (!samples && labelNames.length === 0) metric.remove();
    };
    const options = { name, help, labelNames, aggregator: merge, registers: [this.#registry], collect };
    const metric: Resettable = total ? new this.#prometheus.Counter(options) : new this.#prometheus.Gauge(options);
  }
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
