/** The ledger of prepaid balances after two processes were killed again and again; `npm run faults -- ledger` does more. */

import { expect } from 'chai';
import { isSound, runLedgerKills } from '../../chaos/ledger-kills.js';
import { engines } from '../../support/databases/engines.js';

for (const engine of engines) {
  describe(`the ledger on ${engine.name}`, () => {
    it('sums up to zero and agrees with balances and usage after kills of two processes', async function () {
      this.timeout(1_200_000);
      const place = await engine.place(this);
      try {
        const report = await runLedgerKills(place, { changes: 4_000, kills: 8 });
        expect(isSound(report), JSON.stringify(report)).to.equal(true);
      } finally {
        await place.remove();
      }
    });
  });
}
