/*
 * Declares the kind of jobs that read links: ids begin with `exjob_`, and an ended job is kept for a day. A job waits
 * for any time, a run has only the deadline of its plugin entry, and with the fifth run whose process died the job
 * fails.
 */

import { declareJobKind } from '../jobs/index.js';

declare module '../jobs/kinds.js' {
  interface JobKinds {
    extraction: true;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

declareJobKind('extraction', { prefix: 'exjob_', retentionMs: DAY_MS, retryMs: DAY_MS });
