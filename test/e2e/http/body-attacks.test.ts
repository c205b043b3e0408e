/** Slow, hostile and flooding request bodies against a running gateway. */

import { expect } from 'chai';
import { attackByReplacing, attackQueue, attackSlowly, attackWithBodies } from '../../chaos/body-attacks.js';
import { isLongRun } from '../../support/runner/variants.js';

/** The short form: how long requests take is measured by `npm run faults -- bodies`. */
describe('attacks with request bodies', () => {
  it('delay no other request when they are slow', async () => {
    const { attacked } = await attackSlowly({ connections: 400, ofAccount: 30, requests: 60 });
    expect(attacked.statuses).to.deep.equal({ 200: 60 });
  });

  it('delay no bank webhook when they are replaced before they count as slow', async () => {
    const statuses = await attackByReplacing(15);
    expect(Object.values(statuses)).to.deep.equal([15]);
    expect(['0', '408', '429', '503']).to.not.include(Object.keys(statuses)[0]);
  });

  it('delay no large chat of another account when they flood the parsing threads', async () => {
    const requests = isLongRun ? 8 : 2;
    expect(await attackQueue(requests)).to.deep.equal({ 200: requests });
  });

  it('do not end the gateway, fill its memory or delay others', async () => {
    const report = await attackWithBodies({ ms: isLongRun ? 5_000 : 2_500, isWindowOpen: true });
    expect(report.isAlive).to.equal(true);
    expect(Object.keys(report.live.statuses)).to.deep.equal(['200']);
    expect(Object.keys(report.others.statuses).filter((status) => !['200', '202'].includes(status))).to.deep.equal([]);
    expect(report.extraBytes).to.be.lessThan(600 * 1024 * 1024);
    expect(Object.keys(Object.assign({}, ...Object.values(report.answers)))).to.not.include('200');
  });
});
