import { randomBytes } from 'node:crypto';

const BATCH = 4096;

let batch = randomBytes(0);
let drawn = 0;

/**
 * So many random bytes, 1 to 64, that nobody was given before. They are drawn in batches: a call for each name or id takes
 * longer than everything else that is done for it.
 */
export function drawRandomBytes(count: number): Buffer {
  if (drawn + count > batch.length) {
    batch = randomBytes(BATCH);
    drawn = 0;
  }
  drawn += count;
  return batch.subarray(drawn - count, drawn);
}
