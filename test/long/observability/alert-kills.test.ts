/** Alerts of two processes that are killed again and again: none is lost, and none opens twice; `npm run faults -- alerts` does more. */

import { expect } from 'chai';
import { isSound, runAlertKills } from '../../chaos/alert-kills.js';
import { engines } from '../../support/databases/engines.js';

for (const engine of engines) {
  describe(`alerts on ${engine.name}`, () => {
    it('open once and are sent at least once, though their processes are killed', async function () {
      this.timeout(300_000);
      const place = await engine.place(this);
      try {
        const report = await runAlertKills(place, { seconds: 30, kills: 12 });
        console.log(JSON.stringify(report));
        expect(isSound(report), JSON.stringify(report)).to.equal(true);
      } finally {
        await place.remove();
      }
    });
  });
}
