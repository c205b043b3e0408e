/** Own limits of keys under simultaneous changes, and their windows within that of the account. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { PlanTerms } from '../../../server/plans/index.js';
import type { State } from '../../../server/state.js';
import { HOUR_MS, newKey, signUp } from '../../support/accounts/people.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';

const TERMS: PlanTerms = {
  planId: 'wide',
  grants: ['images', 'extract', 'text'],
  rpm: 20,
  models: null,
  imageDailyLimit: null,
  durationMs: null,
  budget: null,
};

for (const engine of engines) {
  describe(`own limits of keys on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let other: State;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ rateLimitClock: clock });
      other = await place.open({ rateLimitClock: clock });
    });
    after(() => place?.remove());

    const issue = (accountId: string, rpm?: number) =>
      state.keys.issue({
        accountId,
        key: newKey(),
        otherwise: TERMS,
        maxKeys: 10,
        ...(rpm !== undefined && { own: { rpm } }),
      });

    it('are exact beside the limit of the account, over two openings of one database', async () => {
      const [keyId, accountId] = [randomUUID(), randomUUID()];
      const narrow = { keyId, family: 'model', count: 1, limit: 5, within: { keyId: accountId, limit: 12 } } as const;
      const wide = { keyId: accountId, isShared: true, family: 'model', count: 1, limit: 12 } as const;
      const take = (index: number) => (index % 2 === 0 ? state : other).rateLimits;
      const first = await Promise.all(Array.from({ length: 40 }, (_, index) => take(index).consume(narrow)));
      expect(first.filter(({ accepted }) => accepted)).to.have.length(5);
      expect(first.find(({ accepted }) => !accepted)).to.include({ limit: 5, remaining: 0, retryAfterMs: 60_000 });
      // Its refused requests count nowhere.
      expect(await state.rateLimits.peek(wide)).to.include({ accepted: true, remaining: 7 });
      clock.advance(10_000);
      const second = await Promise.all(Array.from({ length: 40 }, (_, index) => take(index).consume(wide)));
      expect(second.filter(({ accepted }) => accepted)).to.have.length(7);
      // Its own five are free again after the minute; the account has five then, too.
      clock.advance(50_000);
      const third = await Promise.all(Array.from({ length: 40 }, (_, index) => take(index).consume(narrow)));
      expect(third.filter(({ accepted }) => accepted)).to.have.length(5);
      clock.advance(10_000);
      expect(await other.rateLimits.consume(narrow)).to.include({ accepted: false, limit: 5, retryAfterMs: 50_000 });
    });

    it('wait for the window that has room later', async () => {
      const [keyId, accountId] = [randomUUID(), randomUUID()];
      const narrow = { keyId, family: 'image', count: 1, limit: 2, within: { keyId: accountId, limit: 3 } } as const;
      await state.rateLimits.consume(narrow);
      clock.advance(1_000);
      await state.rateLimits.consume({ keyId: accountId, family: 'image', count: 2, limit: 3 });
      // Both are full once the account is: the narrow key has one left of its own.
      expect(await state.rateLimits.consume(narrow)).to.include({ accepted: false, limit: 3, retryAfterMs: 59_000 });
      expect(await state.rateLimits.consume({ ...narrow, count: 2 })).to.include({
        accepted: false,
        retryAfterMs: 60_000,
      });
      clock.advance(59_000);
      expect(await state.rateLimits.consume(narrow)).to.include({ accepted: true, limit: 3, remaining: 0 });
    });

    it('change beside plans, rotations, last uses and budgets of the account without a deadlock', async () => {
      const { accountId } = await signUp(state);
      const made = [await issue(accountId, 9), await issue(accountId), await issue(accountId)];
      const ids = made.map(({ id }) => id);
      const actor = 'user:one';
      for (let round = 0; round < 6; round += 1) {
        const rpm = 3 + round;
        const work = [
          ...ids.map((id, index) =>
            (index % 2 === 0 ? state : other).budgets.changeKey({
              ...{ id, accountId, actor },
              properties: { own: { rpm } },
              budgets: [{ unit: 'requests', amount: 10 + round, currency: null, resets: 'day' }],
            }),
          ),
          other.accounts.grant({ accountId, terms: { ...TERMS, planId: `plan${round}` }, actor: 'operator:test' }),
          state.keys.touch(new Map(ids.map((id) => [id, Date.now() + round]))),
          state.budgets.change({
            ...{ scope: 'account', subject: accountId, actor: 'operator:test' },
            budgets: [{ unit: 'tokens', amount: 1_000 + round, currency: null, resets: 'month' }],
          }),
        ];
        await Promise.all(work);
        const after = await state.keys.listOf(accountId);
        expect(after.map((key) => [key.planId, key.rpm, key.own?.rpm])).to.deep.equal(
          ids.map(() => [`plan${round}`, rpm, rpm]),
        );
        for (const key of after) expect(key.furtherBudgets).to.have.length(2);
      }
      const [first = ''] = ids;
      const overlapMs = HOUR_MS;
      const [rotated] = await Promise.all([
        state.keys.rotate({ accountId, id: first, successor: newKey(), overlapMs }),
        other.accounts.grant({ accountId, terms: { ...TERMS, planId: 'small', rpm: 4 }, actor: 'operator:test' }),
      ]);
      const successor = await state.keys.find(rotated.id);
      expect(successor).to.deep.include({ planId: 'small', rpm: 4, planRpm: 4, own: { rpm: 8 } });
      expect(successor?.furtherBudgets).to.have.length(2);
    });
  });
}
