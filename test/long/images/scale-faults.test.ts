/** Image jobs on several nodes under faults of everything around them. */

import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import type { FaultCounters } from '../../chaos/image-findings.js';
import { runScaleFaults, type ScaleReport } from '../../chaos/scale-run.js';
import { openScaleSite } from '../../chaos/scale-site.js';

const ZEROS: FaultCounters = { lost: 0, duplicated: 0, slotErrors: 0, stuck: 0, deadLinks: 0 };
/** Each kind of fault there is, once: 23 that can be brought about everywhere, and a full disk where one can be mounted. */
const KINDS = 23;

/** The short form of `npm run faults -- scale`: three nodes on PostgreSQL, an object store and Redis. */
describe('image jobs on several nodes under faults', function () {
  // A zombie is stopped for three leases, which are 45 s.
  this.timeout(600_000);
  const seed = randomInt(1_000_000);
  let report: ScaleReport;
  let found: string;

  before(async () => {
    const site = await openScaleSite({ keys: 16, rpm: 20 });
    try {
      const times = { paceMs: 5_000, drawMs: 1_000, timeoutMs: 90_000 };
      report = await runScaleFaults(site, { faults: KINDS, atOnce: 6, seed, clients: 16, ...times });
      found = `seed ${seed}: ${JSON.stringify({ ...report, faults: [...report.faults] })}`;
    } finally {
      await site.remove();
    }
  });

  it('lose, duplicate and miscount no job under faults of nodes, database, store and cache', () => {
    expect(report, found).to.include({ ...ZEROS, unexplainedCalls: 0 });
    expect(report.completed, found).to.be.above(0);
    // An upstream bills what it was asked for, even where its answer never arrived.
    expect(report.bills, found).to.equal(report.completed + report.unseenBills);
  });

  it('meet every kind of fault', () => {
    expect(
      [...report.faults.keys()].filter((kind) => kind !== 'full disk'),
      found,
    ).to.have.length(KINDS);
  });

  it('ignore a process that returns after others have done its work', () => {
    expect(report.heldJobs, found).to.be.above(0);
    expect(report, found).to.include({ abandoned: 0, staleCommits: 0 });
  });

  it('continue with a failing shared cache, without mixing data of links', () => {
    expect(report.linksAnswered, found).to.be.above(0);
    expect(report.wrongLinks, found).to.equal(0);
  });
});
