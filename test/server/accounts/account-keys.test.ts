/** Keys and plans of an account in the database. */

import { expect } from 'chai';
import type { AccountPlan } from '../../../server/accounts/account-plans.js';
import type { ApiKeyRecord } from '../../../server/keys/key-rows.js';
import type { PlanTerms } from '../../../server/plans/plan-terms.js';
import type { State } from '../../../server/state.js';
import { DAY_MS, FREE, HOUR_MS, IMAGES, newKey, signUp, TOKENS } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';

for (const engine of engines) {
  describe(`keys and plans of an account on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let accountId: string;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    beforeEach(async () => {
      ({ accountId } = await signUp(state));
    });

    after(() => place?.remove());

    const issue = (maxKeys = 3, otherwise = FREE) => state.keys.issue({ accountId, key: newKey(), otherwise, maxKeys });
    const grant = (terms: PlanTerms) => state.accounts.grant({ accountId, terms, actor: 'operator:bob' });
    const rotate = (id: string, overlapMs = HOUR_MS) =>
      state.keys.rotate({ accountId, id, successor: newKey(), overlapMs });
    const budgetOf = async ({ budgetId }: Pick<AccountPlan | ApiKeyRecord, 'budgetId'>) =>
      budgetId === null ? undefined : state.budgets.find(budgetId);

    it('creates a key with the plan of the account, or with the default', async () => {
      expect(await state.accounts.find(accountId)).to.deep.include({ suspendedAt: null, plan: null });
      const key = await issue();
      const { grants, models, rpm } = FREE;
      expect(key).to.deep.include({ accountId, planId: 'free', grants, models, rpm, expiresAt: null, revokedAt: null });
      expect(await state.keys.find(key.id)).to.deep.equal(key);
      expect(await budgetOf(key)).to.deep.include({ accountId, planId: 'free', requestLimit: 50, tokenLimit: null });
      expect((await state.accounts.find(accountId))?.plan).to.include({ planId: 'free', budgetId: key.budgetId });
      const second = await issue(3, TOKENS);
      expect(second).to.include({ planId: 'free', budgetId: key.budgetId });
      expect(await state.keys.listOf(accountId)).to.have.deep.members([key, second]);
      const unknown = state.keys.issue({ accountId: 'acct_none', key: newKey(), otherwise: FREE, maxKeys: 1 });
      expect(await codeOf(unknown)).to.equal('account_not_found');
    });

    it('limits valid keys among simultaneous requests', async () => {
      const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(issue(2))));
      expect(codes.sort()).to.deep.equal(['ok', 'ok', ...Array.from({ length: 4 }, () => 'too_many_keys')]);
      const [first] = await state.keys.listOf(accountId);
      const { id } = first as ApiKeyRecord;
      expect(await state.keys.revoke(id, clock.now(), 'acct_other')).to.equal(false);
      expect(await state.keys.revoke(id, clock.now(), accountId)).to.equal(true);
      expect(await codeOf(issue(2))).to.equal('ok');
    });

    it('rotates a key: both are valid for the overlap, on one budget', async () => {
      const old = await issue();
      clock.advance(1_000);
      const since = clock.now();
      const made = await rotate(old.id);
      const end = since + HOUR_MS;
      const changed = { ...old, expiresAt: end, own: { expiresAt: end }, replacedBy: made.id };
      expect(await state.keys.find(old.id)).to.deep.equal(changed);
      const { id, createdAt } = made;
      expect(made).to.deep.equal({ ...old, id, createdAt });
      expect(await state.keys.changedSince(since)).to.have.deep.members([changed, made]);
      expect(await codeOf(rotate(old.id))).to.equal('key_replaced');
      expect(await codeOf(rotate('none'))).to.equal('key_not_found');
      const foreign = state.keys.rotate({ accountId: 'acct_none', id, successor: newKey(), overlapMs: 0 });
      expect(await codeOf(foreign)).to.equal('account_not_found');
      // The one before it keeps what it was promised, whatever the next one gets.
      clock.advance(1_000);
      const third = await rotate(made.id, HOUR_MS - 1_000);
      expect((await state.keys.find(old.id))?.expiresAt).to.equal(since + HOUR_MS);
      expect((await state.keys.find(made.id))?.expiresAt).to.equal(since + HOUR_MS);
      clock.advance(HOUR_MS);
      expect(await codeOf(rotate(made.id))).to.equal('key_not_found');
      expect(await codeOf(rotate(third.id, 0))).to.equal('ok');
      expect((await state.keys.find(third.id))?.expiresAt).to.equal(clock.now());
    });

    it('counts a key that was rotated again once its successor is revoked', async () => {
      const old = await issue(1);
      const successor = await rotate(old.id);
      expect(await codeOf(issue(1))).to.equal('too_many_keys');
      await state.keys.revoke(successor.id, clock.now());
      expect(await codeOf(issue(1))).to.equal('too_many_keys');
      const again = await rotate(old.id, 2 * HOUR_MS);
      expect(await state.keys.find(old.id)).to.include({ replacedBy: again.id, expiresAt: clock.now() + HOUR_MS });
      expect(await codeOf(rotate(old.id))).to.equal('key_replaced');
    });

    it('rotates a key once for simultaneous requests', async () => {
      const old = await issue();
      const codes = await Promise.all(Array.from({ length: 4 }, () => codeOf(rotate(old.id))));
      expect(codes.sort()).to.deep.equal(['key_replaced', 'key_replaced', 'key_replaced', 'ok']);
      expect(await state.keys.listOf(accountId)).to.have.length(2);
    });

    it('keeps the twenty latest ended keys, and those in the usage log', async () => {
      const made: ApiKeyRecord[] = [];
      for (let count = 0; count < 24; count += 1) {
        const key = await issue();
        await state.keys.revoke(key.id, clock.now());
        clock.advance(1);
        made.push(key);
      }
      expect(await state.keys.listOf(accountId)).to.have.length(24);
      const [used, ...unused] = made.map(({ id }) => id) as [string, ...string[]];
      await state.keys.touch(new Map([[used, clock.now()]]));
      const keptWith = async (id: string) => (await state.keys.listOf(accountId)).map((key) => key.id !== id && key.id);
      clock.advance(HOUR_MS);
      const first = await issue();
      expect(await keptWith(first.id)).to.deep.equal([used, ...unused.slice(-20), false]);
      clock.advance(90 * DAY_MS + 1);
      const second = await issue();
      expect(await keptWith(second.id)).to.deep.equal([...unused.slice(-20), first.id, false]);
    });

    it('keeps a just ended key until every node has read that', async () => {
      const old = await issue(30);
      clock.advance(1);
      for (let count = 0; count < 21; count += 1) await state.keys.revoke((await issue(30)).id, clock.now());
      clock.advance(2 * HOUR_MS);
      const since = clock.now();
      await state.keys.revoke(old.id, since);
      await issue(30);
      const told = (await state.keys.changedSince(since)).find(({ id }) => id === old.id);
      expect(told).to.include({ revokedAt: since });
      clock.advance(HOUR_MS);
      await issue(30);
      expect(await state.keys.find(old.id)).to.equal(undefined);
    });

    it('assigns a plan to the account and all its keys, on every node', async () => {
      const [first, second] = [await issue(), await issue()];
      const rotated = await rotate(second.id);
      clock.advance(1_000);
      const since = clock.now();
      const plan = await grant(TOKENS);
      const { planId, grants, rpm, models } = TOKENS;
      const expected = { planId, grants, rpm, models, budgetId: plan.budgetId, expiresAt: null };
      expect(plan).to.deep.equal({ ...expected, imageDailyLimit: null, grantedAt: since });
      expect((await state.accounts.find(accountId))?.plan).to.deep.equal(plan);
      expect(plan.budgetId).not.to.equal(first.budgetId);
      for (const { id } of [first, rotated]) expect(await state.keys.find(id)).to.deep.include(expected);
      // The end of its overlap stays.
      expect((await state.keys.find(second.id))?.expiresAt).to.equal(since - 1_000 + HOUR_MS);
      expect(await state.keys.changedSince(since)).to.have.length(3);
      expect(await issue()).to.deep.include(expected);
      const [entry] = await state.audit.list({ subject: accountId, limit: 1 });
      expect(entry).to.include({ action: 'plan.granted', actor: 'operator:bob', to: planId, number: 2 });
    });

    it('adds a further purchase to the rest, and starts anew if the limits differ', async () => {
      const key = await issue();
      const { budgetId } = await grant(TOKENS);
      const { reservation } = await state.admissions.admit({
        ...CHAT,
        reserve: { budgetId: budgetId ?? '', tokens: 9 },
      });
      state.admissions.settle(settlement({ reservation, keyId: key.id, usage: { totalTokens: 7 } }));
      await state.admissions.flush();
      const more = { ...TOKENS, planId: 'token_100m', budget: { ...TOKENS.budget, tokenLimit: 100_000_000 } };
      const plan = await grant(more as PlanTerms);
      expect(plan).to.include({ budgetId, planId: 'token_100m' });
      const left = { tokenLimit: 130_000_000, tokensUsed: 7, requestsUsed: 1, planId: 'token_100m', expiresAt: null };
      expect(await budgetOf(plan)).to.include(left);
      const free = await grant(FREE);
      expect(free.budgetId).not.to.equal(budgetId);
      expect(await budgetOf(free)).to.include({ tokenLimit: null, requestLimit: 50, requestsUsed: 0 });
      const monthly = { ...FREE, budget: { ...FREE.budget, resets: 'month' } } as PlanTerms;
      const month = await grant(monthly);
      expect(month.budgetId).not.to.equal(free.budgetId);
      expect(await grant(monthly)).to.include({ budgetId: month.budgetId });
      expect(await budgetOf(month)).to.include({ requestLimit: 50 });
    });

    it('extends the current plan; keys end with it, and the default follows', async () => {
      const key = await issue();
      const begun = clock.now();
      expect(await grant(IMAGES)).to.include({ budgetId: null, expiresAt: begun + 30 * DAY_MS, imageDailyLimit: 100 });
      clock.advance(10 * DAY_MS);
      expect(await grant(IMAGES)).to.include({ expiresAt: begun + 60 * DAY_MS });
      const ended = { planId: 'images_30d', expiresAt: begun + 60 * DAY_MS, imageDailyLimit: 100, budgetId: null };
      expect(await state.keys.find(key.id)).to.include(ended);
      clock.advance(51 * DAY_MS);
      const made = await issue(1);
      // Its budget of before, not a full one.
      expect(made).to.include({ planId: 'free', expiresAt: null, budgetId: key.budgetId });
      expect(await state.keys.find(key.id)).to.include({ planId: 'free', expiresAt: null });
      clock.advance(1);
      expect(await grant(IMAGES)).to.include({ expiresAt: clock.now() + 30 * DAY_MS });
    });

    it('pauses a plan without a comparable price, with a budget of its own, and extends it on repurchase', async () => {
      const short = { ...TOKENS, planId: 'short', durationMs: 5 * DAY_MS };
      const long = { ...TOKENS, planId: 'long', durationMs: 30 * DAY_MS };
      const begun = clock.now();
      const first = await grant(long);
      const second = await grant(short);
      expect(second).to.include({ planId: 'short', expiresAt: begun + 5 * DAY_MS });
      expect(second.budgetId).not.to.equal(first.budgetId);
      expect(await budgetOf(second)).to.include({ tokenLimit: 30_000_000, expiresAt: begun + 5 * DAY_MS });
      expect(await budgetOf(first)).to.include({ tokenLimit: 30_000_000, expiresAt: begun + 35 * DAY_MS });
      clock.advance(6 * DAY_MS);
      expect((await state.accounts.find(accountId))?.plan).to.include({
        planId: 'long',
        expiresAt: begun + 35 * DAY_MS,
      });
      expect(await grant(long)).to.include({ budgetId: first.budgetId, expiresAt: begun + 65 * DAY_MS });
      expect(await budgetOf(first)).to.include({ tokenLimit: 60_000_000 });
      const third = await grant(TOKENS);
      expect(third).to.include({ expiresAt: null });
      // It ends, although the one before it does not.
      expect(await grant(short)).to.include({ expiresAt: clock.now() + 5 * DAY_MS });
    });

    it('does not extend the free plan, and resumes it unchanged', async () => {
      const key = await issue();
      const { budgetId } = key;
      const { reservation } = await state.admissions.admit({
        ...CHAT,
        reserve: { budgetId: budgetId ?? '', tokens: 1 },
      });
      state.admissions.settle(settlement({ reservation, keyId: key.id }));
      await state.admissions.flush();
      const requests = { ...TOKENS, planId: 'requests', durationMs: 5 * DAY_MS };
      const plan = await grant({ ...requests, budget: { ...FREE.budget, requestLimit: 100 } } as PlanTerms);
      expect(plan).to.include({ planId: 'requests', expiresAt: clock.now() + 5 * DAY_MS });
      expect(await budgetOf(plan)).to.include({ requestLimit: 100, requestsUsed: 0, expiresAt: plan.expiresAt });
      clock.advance(5 * DAY_MS);
      expect(await issue()).to.include({ planId: 'free', budgetId, expiresAt: null });
      expect(await budgetOf({ budgetId })).to.include({ planId: 'free', requestLimit: 50, requestsUsed: 1 });
    });

    it('finds no plan of a missing account', async () => {
      const granted = state.accounts.grant({ accountId: 'acct_none', terms: FREE, actor: 'operator:bob' });
      expect(await codeOf(granted)).to.equal('account_not_found');
      expect(await state.accounts.find('acct_none')).to.equal(undefined);
    });
  });
}
