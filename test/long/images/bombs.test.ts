/** Hostile input images against a running gateway. */

import { expect } from 'chai';
import { runImageBombs } from '../../support/images/image-bomb-run.js';
import { type Canary, startCanary } from '../../support/links/live-probe.js';

const MIB = 1024 * 1024;

describe('hostile input images, sent to a running gateway', () => {
  let canary: Canary;
  before(async () => {
    canary = await startCanary();
  });
  after(() => canary.close());

  it('are accepted or refused correctly, take little memory and reach no host', async () => {
    const outcomes = Object.entries(await runImageBombs(canary.origins));
    expect(outcomes.map(([name, { verdict }]) => [name, verdict])).to.deep.equal(
      outcomes.map(([name, { expected }]) => [name, expected]),
    );
    // Body, text and pixels of the largest together; the bench prints how much it is.
    const most = Math.max(...outcomes.map(([, { extraBytes = 0 }]) => extraBytes));
    expect(most).to.be.lessThan(192 * MIB);
    expect(canary.connections).to.equal(0);
  });
});
