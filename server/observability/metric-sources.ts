/*
 * What the metrics are read from, and how a part of them adds its own.
 */

import type { Gateway } from 'mediagate';
import type { Jobs } from '../../core/jobs/index.js';
import type { BodyBudget } from '../http/index.js';
import type { Webhooks } from '../webhooks/index.js';
import type { CheckResult } from './health.js';

/** A value with its labels. */
export type Sample = [labels: Readonly<Record<string, string>>, value: number];

/** Adds a metric that is read at each scrape. */
export type AddPolledMetric = (metric: PolledMetric) => void;

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
