import { expect } from 'chai';
import { tortureByFullDisk } from '../torture/image-disk-full.js';
import type { FaultCounters } from '../torture/image-findings.js';
import { tortureByKills } from '../torture/image-kills.js';
import { openImageSite } from '../torture/image-site.js';
import { tortureByUpstream } from '../torture/image-upstream-faults.js';

const ZEROS: FaultCounters = { lost: 0, duplicated: 0, slotErrors: 0, stuck: 0, deadLinks: 0 };

/** The short form of `npm run faults`, over HTTP against the real process. */
describe('image jobs under faults', () => {
  it('lose nothing, double nothing and miscount nothing where the process is killed under twenty clients', async () => {
    const site = await openImageSite({ keys: 5, rpm: 8 });
    try {
      const times = { lifeMs: 300, drawMs: 40, paceMs: 400, patienceMs: 30_000 };
      const report = await tortureByKills(site, { kills: 3, clients: 20, ...times });
      const found = JSON.stringify(report);
      expect(report, found).to.include({ ...ZEROS, unexplainedCalls: 0 });
      expect(report.completed, found).to.be.above(0);
      expect(report.bills, found).to.equal(report.completed);
    } finally {
      await site.remove();
    }
  });

  it('end as they should, billed where there is a picture, however the upstream fails', async () => {
    const report = await tortureByUpstream(1);
    expect(report, JSON.stringify(report)).to.include({ ...ZEROS, wrongEnds: 0 });
    expect(report.bills).to.equal(report.completed).and.above(0);
  });

  it('are refused while the disk is full, and taken again once there is room', async function () {
    const report = await tortureByFullDisk();
    if (!report) {
      if (this.test) this.test.title += ' (left out: it takes root to mount a small disk)';
      return this.skip();
    }
    expect(report, JSON.stringify(report)).to.include({ ...ZEROS, failedReads: 0 });
    expect(report.refusedWhileFull).to.be.above(0);
  });
});
