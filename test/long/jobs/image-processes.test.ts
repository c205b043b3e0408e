/** Image jobs whose processes are killed at every point. */

import { expect } from 'chai';
import { runImageChaos } from '../../core/jobs/image-chaos.js';
import { engines, type Place } from '../../support/databases/engines.js';

for (const engine of engines) {
  describe(`processes that accept and run image jobs and die on ${engine.name}`, function () {
    this.timeout(300_000);
    let place: Place;

    beforeEach(async function () {
      place = await engine.place(this);
    });

    afterEach(() => place?.remove());

    it('lose, duplicate, miscount and block no job', async () => {
      const state = await place.open();
      const plan = { kills: 8, clients: 8, keys: 3, rpm: 60, lifeMs: 400, jobMs: 60, timeoutMs: 90_000 };
      const report = await runImageChaos(place, state, plan);
      expect(report).to.include({ lost: 0, duplicated: 0, slotErrors: 0, stuck: 0 }, JSON.stringify(report));
      expect(report.completed, JSON.stringify(report)).to.be.above(0);
    });
  });
}
