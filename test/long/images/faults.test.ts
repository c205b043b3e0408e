/** Image jobs under kills, failing upstreams and full disks. */

import { expect } from 'chai';
import { type DiskFullReport, runDiskFullFaults } from '../../chaos/image-disk-full.js';
import type { FaultCounters } from '../../chaos/image-findings.js';
import { type KillReport, runKillFaults } from '../../chaos/image-kills.js';
import { openImageSite } from '../../chaos/image-site.js';
import { runUpstreamFaults, type UpstreamFaultReport } from '../../chaos/image-upstream-faults.js';

const ZEROS: FaultCounters = { lost: 0, duplicated: 0, slotErrors: 0, stuck: 0, deadLinks: 0 };
/** An upstream that is given up on may have made the picture. One that refused has not. */
const SILENT = ['no answer', 'half an answer, then silence'];

/** The short form of `npm run faults`, over HTTP against the real process. */
describe('image jobs under faults', () => {
  let kills: KillReport;
  let upstream: UpstreamFaultReport;
  let disk: DiskFullReport | undefined;

  // Each mostly waits, so they take no longer together than the longest alone.
  before(async function () {
    this.timeout(300_000);
    [kills, upstream, disk] = await Promise.all([killUnderClients(), runUpstreamFaults(1), runDiskFullFaults()]);
  });

  it('lose, duplicate and miscount no job when the process is killed under twenty clients', () => {
    const found = JSON.stringify(kills);
    expect(kills, found).to.include({ ...ZEROS, unexplainedCalls: 0 });
    expect(kills.completed, found).to.be.above(0);
    expect(kills.bills, found).to.equal(kills.completed + kills.unseenBills);
  });

  it('end correctly and bill only images for every upstream failure', () => {
    expect(upstream, JSON.stringify(upstream)).to.include({ ...ZEROS, wrongEnds: 0 });
    expect(upstream.completed).to.be.above(0);
    const silent = upstream.modes.filter(({ mode }) => SILENT.includes(mode));
    expect(silent.map(({ failed }) => failed)).to.deep.equal([1, 1]);
    // A request that the upstream got may have made an image, so it is billed without an answer, too.
    const unanswered = SILENT.length + upstream.lateAnswers;
    expect(upstream.bills, JSON.stringify(upstream)).to.equal(upstream.completed + unanswered);
  });

  it('are refused while the disk is full, and accepted afterwards', function () {
    if (!disk) {
      if (this.test) this.test.title += ' (left out: it takes root to mount a small disk)';
      return this.skip();
    }
    expect(disk, JSON.stringify(disk)).to.include({ ...ZEROS, failedReads: 0 });
    expect(disk.refusedWhileFull).to.be.above(0);
  });
});

async function killUnderClients(): Promise<KillReport> {
  const site = await openImageSite({ keys: 5, rpm: 8 });
  try {
    const times = { lifeMs: 300, drawMs: 40, paceMs: 400, timeoutMs: 90_000 };
    return await runKillFaults(site, { kills: 3, clients: 20, ...times });
  } finally {
    await site.remove();
  }
}
