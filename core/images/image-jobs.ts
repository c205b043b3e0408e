/*
 * Declares the kind of jobs that make images: ids begin with `imgjob_`, an ended job is kept for seven days, its files
 * are its input images and its image, and its price depends on pixels and quality. A job waits at most an hour for its
 * first run, a run has six minutes, and with the second run whose process died the job fails; with the restart policy
 * `fail` already with the first.
 */

import { type Charge, declareJobKind } from '../jobs/index.js';
import type { ImageResult } from './image-run.js';
import type { ImageJobSummary } from './references.js';

declare module '../jobs/kinds.js' {
  interface JobKinds {
    image: true;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

declareJobKind('image', {
  prefix: 'imgjob_',
  retentionMs: 7 * DAY_MS,
  retryMs: DAY_MS,
  // Input images that came with the request are deleted at the end of a job.
  canRetry: (summary) => !(summary as ImageJobSummary | null)?.files.length,
  filesOf,
});

/** Files of a job: its input images, and its image once it has completed. */
function filesOf(summary: unknown, result: unknown): string[] {
  return [...(summary as ImageJobSummary).files, ...(result === null ? [] : filesOfResult(result as ImageResult))];
}

export function filesOfResult({ image: { name, rawName } }: ImageResult): string[] {
  return [...new Set([name, rawName])];
}

/** The charge of an image job. */
export interface ImageCharge extends Charge {
  /**
   * The pixels of the image, and the quality that was asked for, if any. Without pixels it was not seen, and may have
   * any size.
   */
  image: { width?: number; height?: number; quality?: string };
}

export function isImageCharge(charge: Charge): charge is ImageCharge {
  return 'image' in charge;
}
