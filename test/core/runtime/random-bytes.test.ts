/** Random bytes that are drawn in batches: length, repetition and distribution. */

import { expect } from 'chai';
import { drawRandomBytes } from '../../../core/runtime/time.js';

describe('random bytes', () => {
  it('returns the requested number, and none twice, over many batches', () => {
    const drawn = Array.from({ length: 5_000 }, (_, index) => drawRandomBytes(index % 2 === 0 ? 16 : 12));
    expect(drawn.every(({ length }, index) => length === (index % 2 === 0 ? 16 : 12))).to.equal(true);
    const ranges = drawn.map(({ buffer, byteOffset, length }) => ({
      buffer,
      from: byteOffset,
      to: byteOffset + length,
    }));
    const overlaps = ranges.filter(({ buffer, from }, index) => {
      const before = ranges[index - 1];
      return before !== undefined && before.buffer === buffer && from < before.to;
    });
    expect(overlaps).to.deep.equal([]);
    expect(new Set(drawn.map((bytes) => bytes.toString('hex'))).size).to.equal(5_000);
  });

  it('returns every value of a byte equally often', () => {
    const counts = new Array<number>(256).fill(0);
    for (let draw = 0; draw < 16_000; draw += 1)
      for (const byte of drawRandomBytes(16)) counts[byte] = (counts[byte] ?? 0) + 1;
    // 1,000 each; nine standard deviations to either side.
    expect(counts.filter((count) => count < 715 || count > 1_285)).to.deep.equal([]);
  });
});
