/** The worker state of a job in words. */

import { expect } from 'chai';
import { renderLease, renderWait } from '../../../server/cli/gateway/jobs.js';

const LEASE = { at: 100_000, leaseMs: 15_000 };

describe("state of a job's worker", () => {
  const words = (silentMs: number, isProcessDead = false) =>
    renderLease({ host: 'one', pid: 1, isProcessDead, seenAt: LEASE.at - silentMs }, LEASE);

  it('explains what happens to a job whose worker has no heartbeat', () => {
    expect(words(-50)).to.equal('alive 0 s ago');
    expect(words(9_999)).to.equal('alive 9 s ago');
    expect(words(12_000)).to.equal('no heartbeat for 12 s; its lease ends in 3 s');
    expect(words(15_000)).to.equal('no heartbeat for 15 s; its lease has ended: waits for another worker');
    expect(words(3 * 3_600_000)).to.equal('no heartbeat for 3 h; its lease has ended: waits for another worker');
    expect(words(1_000, true)).to.equal('its worker has ended; waits for another worker');
  });

  it('explains why a job waits', () => {
    expect(renderWait({ attempts: 0, crashCount: 0 })).to.equal('waits for a worker');
    expect(renderWait({ attempts: 1, crashCount: 0 })).to.equal('released; queued again');
    expect(renderWait({ attempts: 1, crashCount: 1 })).to.equal('interrupted once; queued again');
    expect(renderWait({ attempts: 3, crashCount: 2 })).to.equal('interrupted 2 times; queued again');
  });
});
