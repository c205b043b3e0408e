/** The number of workers that a machine gets. */

import { expect } from 'chai';
import { countWorkers } from '../../../server/workers/worker-count.js';

const GB = 1024 ** 3;

describe('number of workers', () => {
  for (const [cores, bytes, expected] of [
    [1, 8 * GB, 1],
    [2, 8 * GB, 2],
    [16, 64 * GB, 4],
    [8, GB, 2],
    [4, GB / 4, 1],
  ] as const) {
    it(`is ${expected} by default on ${cores} cores with ${bytes / GB} GB`, () => {
      expect(countWorkers('auto', { cores, bytes })).to.equal(expected);
    });
  }

  it('is the configured one on any machine', () => {
    expect(countWorkers(3, { cores: 1, bytes: GB })).to.equal(3);
  });
});
