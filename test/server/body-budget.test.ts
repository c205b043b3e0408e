import { expect } from 'chai';
import { createBodyBudget } from '../../server/middleware/body-budget.js';

describe('the budget of request bodies', () => {
  it('gives each key three eighths of the small and of the large, and takes back what is released', () => {
    const budget = createBodyBudget({ smallBytes: 8_000, bigBodies: 8 });
    for (const [bytes, places] of [
      [1_000, 3],
      [2_000_000, 3],
    ] as const) {
      const take = (keyId: string) => budget.reserve(keyId, bytes);
      const releases = Array.from({ length: places }, () => take('one'));
      expect(() => take('one'))
        .to.throw('of this API key')
        .with.property('code', 'queue_full');
      for (const keyId of ['two', 'two', 'two', 'three', 'three']) releases.push(take(keyId));
      expect(() => take('four'))
        .to.throw('Too many request bodies are')
        .with.property('retryAfterSeconds', 1);
      for (const release of releases) release();
      for (const keyId of ['one', 'one', 'one', 'four']) take(keyId);
    }
  });
});
