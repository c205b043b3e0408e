/*
 * Declares the kind of jobs that read many links: ids begin with `exbatch_`, and an ended one is kept for a day, with
 * the results of its links. Its hooks of admission are those of other jobs, but what its links hold ends with it.
 */

import type { RequestOptions } from '../../core/contracts/index.js';
import { type AdmissionHooks, declareJobKind } from '../../core/jobs/index.js';
import type { JobBatchBody } from '../links/index.js';
import type { BatchLinks } from './batch-links.js';

declare module '../../core/jobs/kinds.js' {
  interface JobKinds {
    batch: true;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

// A job may have thousands of rows, so one at a time is deleted.
declareJobKind('batch', { prefix: 'exbatch_', retentionMs: DAY_MS, sweepRows: 1 });

/** The `summary` of its record. */
export interface BatchSummary {
  /** Number of links. */
  total: number;
  /** The fields of the request, but its links. */
  fields: Omit<JobBatchBody, 'urls' | 'webhook_url'>;
}

export interface BatchInput {
  urls: readonly string[];
  options?: RequestOptions;
  /** Default false. */
  verifyMedia?: boolean;
  /** Whether the words of subtitles are wanted, and the preferred languages. Default: they are not. */
  captions?: { languages: readonly string[] };
  /** The key whose rate limit and budgets the links use. */
  keyId: string;
  accountId: string;
}

/** @param inner Of the job itself. */
export function createBatchAdmission(inner: AdmissionHooks, links: Pick<BatchLinks, 'endOpen'>): AdmissionHooks {
  return {
    open: (candidates, at) => inner.open(candidates, at),
    *jobsEnded(jobs) {
      yield* inner.jobsEnded(jobs);
      yield* links.endOpen(jobs);
    },
  };
}
