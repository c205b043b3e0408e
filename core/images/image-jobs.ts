/*
 * Declares the jobs that make images, and what their price depends on.
 */

import { type Charge, declareJobKind } from '../jobs/index.js';

declare module '../jobs/kinds.js' {
  interface JobKinds {
    image: true;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

declareJobKind('image', { prefix: 'imgjob_', retentionMs: 7 * DAY_MS });

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
