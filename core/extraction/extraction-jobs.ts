/*
 * Declares the kind of jobs that read links: ids begin with `exjob_`, and an ended job is kept for a day.
 */

import { declareJobKind } from '../jobs/index.js';

declare module '../jobs/kinds.js' {
  interface JobKinds {
    extraction: true;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

declareJobKind('extraction', { prefix: 'exjob_', retentionMs: DAY_MS });
