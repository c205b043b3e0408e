/** A background batch through kills of its process: a short form of `npm run faults -- batch`. */

import { expect } from 'chai';
import { runBatchKills } from '../../chaos/batch-kills.js';
import { describeOnStacks } from '../../support/databases/stacks.js';

describeOnStacks('a background batch', (stack) => {
  it('ends and charges each link once, through two kills of the process', async () => {
    const place = await stack.place();
    try {
      const { databaseUrl } = place.settings;
      const run = { links: 60, kills: 2 };
      const { repeatedLinks, seconds: _, ...report } = await runBatchKills({ ...run, rpm: 6_000, databaseUrl });
      const none = { lost: 0, failed: 0, countedTwice: 0, slotsTwice: 0, paidTwice: 0, unaccountedFetches: 0 };
      expect(report).to.deep.equal({ ...run, status: 'completed', ...none });
      expect(repeatedLinks).to.be.greaterThan(0);
    } finally {
      await place.remove();
    }
  });
});
