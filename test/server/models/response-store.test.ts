/** Stored responses of models: owner, repetition and deletion. */

import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import { engines, type Place } from '../../support/databases/engines.js';

const response = { owner: 'one', model: 'm-5.5', upstream: 'https://a.example' };

for (const engine of engines) {
  describe(`stored responses on ${engine.name}`, () => {
    let place: Place;
    let state: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
    });

    afterEach(() => place?.remove());

    it('are found at once, only by their own account, also after a restart', async () => {
      const made = { ...response, id: 'resp_1', createdAt: Date.now() };
      state.storedResponses.remember(made);
      expect(await state.storedResponses.find('resp_1', 'one')).to.deep.equal(made);
      expect(await state.storedResponses.find('resp_1', 'two')).to.equal(undefined);
      expect(await state.storedResponses.find('resp_\u0000', 'one')).to.equal(undefined);
      await state.close();
      const again = await place.open();
      expect(await again.storedResponses.find('resp_1', 'one')).to.deep.equal(made);
      expect(await again.storedResponses.find('resp_1', 'two')).to.equal(undefined);
    });

    it('stay unchanged if an upstream returns an id twice', async () => {
      const first = { ...response, id: 'resp_1', createdAt: Date.now() };
      state.storedResponses.remember(first);
      state.storedResponses.remember({ ...first, owner: 'two', upstream: 'https://b.example' });
      await state.close();
      const again = await place.open();
      expect(await again.storedResponses.find('resp_1', 'one')).to.include({ upstream: 'https://a.example' });
      expect(await again.storedResponses.find('resp_1', 'two')).to.include({ upstream: 'https://b.example' });
      // Whoever has theirs deleted leaves the others theirs.
      await again.storedResponses.forget('resp_1', 'one');
      expect(await again.storedResponses.find('resp_1', 'one')).to.equal(undefined);
      expect(await again.storedResponses.find('resp_1', 'two')).to.include({ upstream: 'https://b.example' });
    });

    it('are deleted at any moment, also while they are being written', async () => {
      const ids = Array.from({ length: 60 }, (_, index) => `resp_${index}`);
      for (const id of ids) {
        state.storedResponses.remember({ ...response, id, createdAt: Date.now() });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
        if (Math.random() < 0.5) await state.storedResponses.forget(id, 'one');
        else setTimeout(() => state.storedResponses.forget(id, 'one'), Math.random() * 100);
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
      await state.close();
      const again = await place.open();
      for (const id of ids) expect(await again.storedResponses.find(id, 'one'), id).to.equal(undefined);
    });
  });
}
