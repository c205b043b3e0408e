/** The free allowance that an erased identity has already used. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import type { UserRecord } from '../../../server/accounts/tables.js';
import type { PlanTerms } from '../../../server/plans/plan-terms.js';
import type { State } from '../../../server/state.js';
import { newKey } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';

const DAY_MS = 86_400_000;
const LIMIT = 5;
const ann = { issuer: 'https://id.example', subject: 'subject-of-ann', email: 'ann@mail.example', name: 'Ann' };
type Resets = NonNullable<PlanTerms['budget']>['resets'];

for (const engine of engines) {
  describe(`the free allowance of an erased identity on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 5, 10, 12));
      state = await place.open({ clock, rateLimitClock: clock });
    });
    afterEach(() => place?.remove());

    const freeTier = (resets: Resets): PlanTerms => ({
      planId: 'free',
      grants: ['text'],
      rpm: 30,
      models: null,
      imageDailyLimit: null,
      durationMs: null,
      budget: { tokenLimit: null, dailyTokenLimit: null, requestLimit: LIMIT, resets },
    });

    /** Signs in and makes a key, as a person does on the dashboard. */
    async function join(resets: Resets, person: typeof ann = ann) {
      const user = await state.users.signIn(person);
      const { accountId } = user;
      const key = await state.keys.issue({ accountId, key: newKey(), otherwise: freeTier(resets), maxKeys: 3 });
      return { user, key };
    }

    type Joined = Awaited<ReturnType<typeof join>>;

    async function use({ key }: Joined): Promise<void> {
      const { id: keyId, accountId, budgetId } = key;
      const wanted = { ...CHAT, keyId, accountId, reserve: { budgetId, tokens: 1 } };
      const { reservation } = await state.admissions.admit(wanted);
      state.admissions.settle(settlement({ keyId, accountId, reservation, at: clock.now() }));
      await state.admissions.flush();
    }

    /** How many requests it still takes. */
    async function leftOf(joined: Joined): Promise<number> {
      for (let used = 0; used <= LIMIT; used += 1) {
        const code = await codeOf(use(joined));
        if (code === 'insufficient_quota') return used;
        if (code !== 'ok') throw new Error(code);
      }
      return LIMIT + 1;
    }

    const erase = ({ id }: UserRecord) => state.erasures.begin({ userId: id, actor: `user:${id}` });

    async function kept(): Promise<Record<string, unknown>[]> {
      const database = await openDatabase(place);
      try {
        return await database.queries.selectFrom('erased_allowances').selectAll().execute();
      } finally {
        await database.close();
      }
    }

    it('is not renewed by signing in again, and belongs only to the identity', async () => {
      const first = await join('never');
      for (let time = 0; time < 3; time += 1) await use(first);
      await erase(first.user);
      // Not used at all in between.
      await erase(await state.users.signIn(ann));
      const second = await join('never');
      expect(second.key.accountId).not.to.equal(first.key.accountId);
      await use(second);
      await erase(second.user);
      expect(await leftOf(await join('never'))).to.equal(LIMIT - 4);
      expect(await leftOf(await join('never', { ...ann, subject: 'ben' }))).to.equal(LIMIT);
      expect(await leftOf(await join('never', { ...ann, issuer: 'https://other.example' }))).to.equal(LIMIT);
    });

    it('counts running requests, and admits no more', async () => {
      const first = await join('never');
      const { id: keyId, accountId, budgetId } = first.key;
      await state.admissions.admit({ ...CHAT, keyId, accountId, reserve: { budgetId, tokens: 1 } });
      await erase(first.user);
      expect(await codeOf(use(first))).to.equal('insufficient_quota');
      expect(await leftOf(await join('never'))).to.equal(LIMIT - 1);
    });

    const spans: [Resets, number][] = [
      ['day', DAY_MS / 2],
      ['month', 20.5 * DAY_MS],
      ['never', 400 * DAY_MS],
    ];
    for (const [resets, ms] of spans) {
      it(`is stored until its period ends and then deleted, if it resets: ${resets}`, async () => {
        const joined = await join(resets);
        await use(joined);
        await erase(joined.user);
        const [row] = await kept();
        expect(Number(row?.expiresAt)).to.equal(clock.now() + ms);
        clock.advance(ms - 1);
        await state.erasures.sweep({ files: state.files });
        expect(await kept()).to.have.length(1);
        clock.advance(1);
        await state.erasures.sweep({ files: state.files });
        expect(await kept()).to.deep.equal([]);
        expect((await state.budgets.find((await join(resets)).key.budgetId ?? ''))?.requestsUsed).to.equal(0);
      });
    }

    it('has no name, id or plain hash of the person, and nothing while the person has an account', async () => {
      const joined = await join('month');
      await use(joined);
      await erase(joined.user);
      const [row, ...others] = await kept();
      expect(others).to.deep.equal([]);
      expect(Object.keys(row ?? {}).sort()).to.deep.equal(['expiresAt', 'hash', 'used']);
      expect(row?.hash).to.match(/^[0-9a-f]{64}$/);
      expect(JSON.stringify(row)).not.to.match(/ann|subject|id\.example/i);
      expect(JSON.stringify(row)).not.to.contain(joined.user.id).and.not.to.contain(joined.user.accountId);
      await state.users.signIn(ann);
      expect(await kept()).to.deep.equal([]);
    });

    it('is stored under the newest secret, and found under an older one', async () => {
      const secrets = ['new', 'old'].map((text) => Buffer.alloc(32, text));
      state = await place.open({ clock, rateLimitClock: clock, identitySecrets: async () => secrets.slice(1) });
      const joined = await join('never');
      await use(joined);
      await erase(joined.user);
      state = await place.open({ clock, rateLimitClock: clock, identitySecrets: async () => secrets });
      expect(await leftOf(await join('never'))).to.equal(LIMIT - 1);
    });

    it('is nothing if nothing was used', async () => {
      await erase((await join('never')).user);
      expect(await kept()).to.deep.equal([]);
    });
  });
}
