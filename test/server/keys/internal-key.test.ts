/** The internal key of an account, with which pages make requests. */

import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import { DAY_MS, FREE, HOUR_MS, IMAGES, newKey, signUp } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';

for (const engine of engines) {
  describe(`the internal key of an account on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let other: State;
    let accountId: string;
    let userId: string;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
      other = await place.open({ clock, rateLimitClock: clock });
    });
    beforeEach(async () => {
      ({ accountId, id: userId } = await signUp(state));
    });
    after(() => place?.remove());

    const issue = (by = state) => by.keys.issueInternal({ accountId, otherwise: FREE });
    const grant = (terms = IMAGES) => state.accounts.grant({ accountId, terms, actor: 'operator:bob' });

    it('is one, however many first requests of several processes come at once', async () => {
      const made = await Promise.all(Array.from({ length: 12 }, (_, index) => issue(index % 2 ? other : state)));
      expect(new Set(made.map(({ id }) => id))).to.have.length(1);
      expect(made[0]).to.deep.include({ accountId, planId: 'free', isInternal: true, grants: ['text'], rpm: 30 });
      expect(await state.keys.findInternal(accountId)).to.deep.equal(made[0]);
    });

    it('is not listed, and does not count among the keys of the account', async () => {
      const internal = await issue();
      expect(await state.keys.listOf(accountId)).to.deep.equal([]);
      expect(await state.keys.listOf(accountId, true)).to.deep.equal([internal]);
      const own = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 1 });
      expect((await state.keys.listOf(accountId)).map(({ id }) => id)).to.deep.equal([own.id]);
      // Both draw on one budget.
      expect(own.budgetId).to.equal(internal.budgetId);
      const rotation = { accountId, id: internal.id, successor: newKey(), overlapMs: HOUR_MS };
      expect(await codeOf(state.keys.rotate(rotation))).to.equal('key_not_found');
    });

    it('has the plan of the account, and the free tier after its end', async () => {
      await grant();
      const made = await issue();
      expect(made).to.deep.include({ planId: 'images_30d', grants: ['images'], imageDailyLimit: 100 });
      clock.advance(31 * DAY_MS);
      const later = await issue();
      expect(later).to.deep.include({ id: made.id, planId: 'free', grants: ['text'], expiresAt: null });
      await grant();
      expect(await state.keys.findInternal(accountId)).to.deep.include({ id: made.id, planId: 'images_30d' });
    });

    it('is refused while the account is suspended, and is made again after it was revoked', async () => {
      const { id } = await issue();
      await state.users.suspend({ userId, actor: 'operator:bob' });
      const suspended = await state.keys.findInternal(accountId);
      expect(suspended?.suspendedAt).to.be.a('number');
      await state.users.resume({ userId, actor: 'operator:bob' });
      expect(await state.keys.revoke(id, clock.now(), accountId)).to.equal(true);
      expect((await issue()).id).not.to.equal(id);
    });

    it('is revoked when the account is erased', async () => {
      const { id } = await issue();
      await state.erasures.begin({ userId, actor: 'operator:bob' });
      expect((await state.keys.find(id))?.revokedAt).to.be.a('number');
      expect(await codeOf(issue())).not.to.equal('ok');
      expect(await state.keys.findInternal(accountId)).to.equal(undefined);
    });
  });
}
