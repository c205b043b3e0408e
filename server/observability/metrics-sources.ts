import type { Gateway, Jobs } from 'mediagate';
import type { BodyBudget } from '../http/index.js';
import type { Webhooks } from '../webhooks/index.js';
import type { CheckResult } from './health.js';

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
