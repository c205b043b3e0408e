import { createHash } from 'node:crypto';

/** Whole numbers from 0 to 2^31 - 1, the same for the same words. */
export function createSeeds(words: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${count} ${words}`).digest().readUInt32LE() >>> 1;
  };
}
