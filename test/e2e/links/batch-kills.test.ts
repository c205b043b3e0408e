/** A background batch through a kill of its process: a short form of `npm run faults -- batch`. */

import { expect } from 'chai';
import { ANSWER_MS, runBatchKills } from '../../chaos/batch-kills.js';

describe('a background batch', () => {
  it('ends and charges each link once, through a kill of the process', async () => {
    const run = { links: 40, kills: 1 };
    // The link whose fetch the kill follows is not answered yet, so at least that one is repeated.
    const killWithinMs = ANSWER_MS / 2;
    const { repeatedLinks, seconds: _, ...report } = await runBatchKills({ ...run, killWithinMs, rpm: 6_000 });
    const none = { lost: 0, failed: 0, countedTwice: 0, slotsTwice: 0, paidTwice: 0, unaccountedFetches: 0 };
    expect(report).to.deep.equal({ ...run, status: 'completed', ...none });
    expect(repeatedLinks).to.be.greaterThan(0);
  });
});
