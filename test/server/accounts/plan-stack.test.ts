/** Plans that are bought while another one runs. */

import { expect } from 'chai';
import fc from 'fast-check';
import { keyAt } from '../../../server/keys/key-rows.js';
import type { PlanTerms } from '../../../server/plans/plan-terms.js';
import type { State } from '../../../server/state.js';
import { DAY_MS, FREE, IMAGES, newKey, order, signUp, TOKENS } from '../../support/accounts/people.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';
import { isLongRun } from '../../support/runner/variants.js';

const OPERATOR = { actor: 'operator:bob' };

function plan(planId: string, days: number | null, amount?: number, currency = 'EUR'): PlanTerms {
  const durationMs = days === null ? null : days * DAY_MS;
  return { ...IMAGES, planId, durationMs, ...(amount !== undefined && { price: { amount, currency } }) };
}

/** Prices per day: 10, 100, 15, 10 dollars, none. */
const PLANS = {
  cheap: plan('cheap', 30, 300),
  rich: plan('rich', 30, 3_000),
  week: plan('week', 7, 105),
  dollars: plan('dollars', 30, 300, 'USD'),
  gift: plan('gift', 30),
  endless: plan('endless', null, 500),
  other: plan('other', null),
};
type PlanName = keyof typeof PLANS;

/** What should follow, in half days, by a computation of its own: each plan has one price, so a number of days is enough. */
class Model {
  stack: { name: PlanName; halves: number | null }[] = [];

  wait(halves: number): void {
    let left = halves;
    for (let [running] = this.stack; running && running.halves !== null && left > 0; [running] = this.stack) {
      const used = Math.min(left, running.halves);
      running.halves -= used;
      left -= used;
      if (running.halves === 0) this.stack.shift();
    }
  }

  buy(name: PlanName): void {
    const { durationMs, price } = PLANS[name];
    const [running] = this.stack;
    const same = this.stack.find((part) => part.name === name);
    this.stack = this.stack.filter((part) => part !== same);
    if (durationMs === null) {
      this.stack.unshift({ name, halves: null });
      return;
    }
    let halves = (same?.halves ?? 0) + (durationMs / DAY_MS) * 2;
    if (running && running !== same && running.halves !== null) {
      const old = PLANS[running.name];
      if (price && old.price?.currency === price.currency && old.durationMs !== null) {
        const worth = running.halves * old.price.amount * durationMs;
        halves += 2 * Math.floor(worth / (2 * price.amount * old.durationMs));
        this.stack = this.stack.filter((part) => part !== running);
      }
    }
    this.stack.unshift({ name, halves });
  }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('buy' as const),
      name: fc.constantFrom(...(Object.keys(PLANS) as PlanName[])),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), halves: fc.constantFrom(1, 7, 29, 60, 61) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('refund' as const), which: fc.nat(9) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What happened, without the purchases that were refunded since. */
function replay(steps: readonly (Step & { refunded?: true })[]): Model {
  const model = new Model();
  for (const each of steps) {
    if (each.kind === 'wait') model.wait(each.halves);
    else if (each.kind === 'buy' && !each.refunded) model.buy(each.name);
  }
  return model;
}

for (const engine of engines) {
  describe(`plans bought while another runs on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let accountId: string;

    before(async function () {
      place = await engine.place(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    beforeEach(async () => {
      ({ accountId } = await signUp(state));
    });

    after(() => place?.remove());

    const grant = (terms: PlanTerms) => state.accounts.grant({ accountId, terms, ...OPERATOR });
    const planNow = async () => (await state.accounts.find(accountId))?.plan;
    const daysFrom = (at: number, expiresAt: number | null | undefined) => expiresAt && (expiresAt - at) / DAY_MS;
    const preview = async (terms: PlanTerms) => (await state.accounts.preview(accountId, [terms]))[0];

    it('are credited by price: twelve cheap ones are worth 36 days of one that costs ten times as much', async () => {
      const begun = clock.now();
      for (let count = 0; count < 12; count += 1) await grant(PLANS.cheap);
      expect(daysFrom(begun, (await planNow())?.expiresAt)).to.equal(360);
      expect(await preview(PLANS.rich)).to.deep.equal({
        planId: 'rich',
        at: begun,
        expiresAt: begun + 66 * DAY_MS,
        creditedDays: 36,
        replacedPlanId: 'cheap',
        nextPlanId: null,
        endsReplaced: false,
      });
      expect(daysFrom(begun, (await grant(PLANS.rich)).expiresAt)).to.equal(66);
      // And back: 66 days of it are worth 660.
      expect(daysFrom(begun, (await grant(PLANS.cheap)).expiresAt)).to.equal(690);
    });

    it('are credited in whole days, rounded down once, and one for one at the same price', async () => {
      const begun = clock.now();
      await grant(PLANS.week);
      clock.advance(DAY_MS / 2);
      // 6.5 days at 15 are 9.75 days at 10.
      expect(await grant(PLANS.cheap)).to.include({ planId: 'cheap', expiresAt: clock.now() + 39 * DAY_MS });
      const twin = plan('twin', 30, 300);
      expect(await grant(twin)).to.include({ expiresAt: clock.now() + 69 * DAY_MS });
      expect(daysFrom(begun, (await planNow())?.expiresAt)).to.equal(69.5);
    });

    it('without an end return unchanged, for accounts and keys, at the exact instant', async () => {
      const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 3 });
      const tokens = await grant(TOKENS);
      const use = async (budgetId: string | null, used: number) => {
        const { reservation } = await state.admissions.admit({
          ...CHAT,
          reserve: { budgetId: budgetId ?? '', tokens: 90 },
        });
        state.admissions.settle(settlement({ reservation, keyId: key.id, usage: { totalTokens: used } }));
        await state.admissions.flush();
      };
      await use(tokens.budgetId, 7);
      const monthly = {
        ...TOKENS,
        planId: 'monthly',
        durationMs: 30 * DAY_MS,
        price: { amount: 900, currency: 'EUR' },
      };
      const begun = clock.now();
      const month = await grant(monthly);
      expect(month).to.include({ planId: 'monthly', expiresAt: begun + 30 * DAY_MS });
      // A budget of its own: neither counts what the other used.
      expect(month.budgetId).not.to.equal(tokens.budgetId);
      await use(month.budgetId, 5);
      const stored = await state.keys.find(key.id);
      clock.advance(30 * DAY_MS - 1);
      expect(await state.keys.find(key.id)).to.include({ planId: 'monthly', budgetId: month.budgetId });
      clock.advance(1);
      const back = { planId: 'token_30m', budgetId: tokens.budgetId, expiresAt: null };
      expect(await planNow()).to.include(back);
      expect(await state.keys.find(key.id)).to.include(back);
      expect((await state.keys.listOf(accountId))[0]).to.include(back);
      expect((await state.keys.list()).find(({ id }) => id === key.id)).to.include(back);
      // What a node read before tells it too.
      expect(stored && keyAt(stored, clock.now())).to.include(back);
      expect(stored && keyAt(stored, clock.now() - 1)).to.include({ planId: 'monthly' });
      expect(await state.budgets.find(tokens.budgetId ?? '')).to.include({
        tokensUsed: 7,
        tokenLimit: 30_000_000,
        expiresAt: null,
      });
      expect(await state.budgets.find(month.budgetId ?? '')).to.include({ tokensUsed: 5, tokenLimit: 30_000_000 });
      // A key made now has it as well, and so has one that was rotated.
      expect(await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 3 })).to.include(back);
      expect(await state.keys.rotate({ accountId, id: key.id, successor: newKey(), overlapMs: 0 })).to.include(back);
    });

    it('without an end add to their own kind while another runs, and start at once', async () => {
      const { budgetId } = await grant(TOKENS);
      await grant(PLANS.cheap);
      const seen = await preview(TOKENS);
      expect(seen).to.include({ expiresAt: null, replacedPlanId: 'cheap', endsReplaced: true, creditedDays: 0 });
      expect(await grant(TOKENS)).to.include({ planId: 'token_30m', budgetId, expiresAt: null });
      expect(await state.budgets.find(budgetId ?? '')).to.include({ tokenLimit: 60_000_000 });
    });

    it('keep the rest of a budget once, with the credited time', async () => {
      const monthly = {
        ...TOKENS,
        planId: 'monthly',
        durationMs: 30 * DAY_MS,
        price: { amount: 900, currency: 'EUR' },
      };
      const larger = { ...monthly, planId: 'larger', price: { amount: 1_800, currency: 'EUR' } };
      const first = await grant(monthly);
      const second = await grant(larger);
      expect(second).to.include({ budgetId: first.budgetId, expiresAt: clock.now() + 45 * DAY_MS });
      expect(await state.budgets.find(first.budgetId ?? '')).to.include({
        planId: 'larger',
        tokenLimit: 60_000_000,
        expiresAt: clock.now() + 45 * DAY_MS,
      });
    });

    it('restore the plan below when they are refunded', async () => {
      const begun = clock.now();
      const make = async (terms: PlanTerms) =>
        (await order(state, accountId, { terms, amount: terms.price?.amount ?? 1, currency: 'EUR' })).code;
      const [cheap, rich] = [await make(PLANS.cheap), await make(PLANS.rich)];
      await state.orders.confirm({ code: cheap, ...OPERATOR });
      clock.advance(10 * DAY_MS);
      expect(await state.orders.preview(rich)).to.include({ expiresAt: clock.now() + 32 * DAY_MS, creditedDays: 2 });
      await state.orders.confirm({ code: rich, ...OPERATOR });
      expect(await planNow()).to.include({ planId: 'rich', expiresAt: clock.now() + 32 * DAY_MS });
      clock.advance(5 * DAY_MS);
      await state.orders.refund({ code: rich, ...OPERATOR });
      expect(await planNow()).to.include({ planId: 'cheap', expiresAt: begun + 30 * DAY_MS });
      await state.orders.refund({ code: cheap, ...OPERATOR });
      expect(await planNow()).to.include({ planId: 'cheap', expiresAt: clock.now() });
      expect(await state.orders.preview('MG00000000')).to.equal(undefined);
    });

    it("use the order's real price, not the one in its terms", async () => {
      const terms = { ...PLANS.cheap, price: { amount: 30_000, currency: 'EUR' } };
      const { code } = await order(state, accountId, { terms, amount: 300, currency: 'EUR' });
      await state.orders.confirm({ code, ...OPERATOR });
      expect(await preview(PLANS.rich)).to.include({ creditedDays: 3 });
    });

    it('count each order once, in the order in which they are paid, also several at once', async () => {
      const codes: string[] = [];
      for (const terms of [PLANS.cheap, PLANS.cheap, PLANS.cheap])
        codes.push((await order(state, accountId, { terms, amount: 300, currency: 'EUR' })).code);
      const begun = clock.now();
      await Promise.all([...codes, ...codes].map((code) => state.orders.confirm({ code, ...OPERATOR })));
      expect(await planNow()).to.include({ planId: 'cheap', expiresAt: begun + 90 * DAY_MS });
    });

    it('end before the year 10000 at any price', async () => {
      await grant(plan('dear', 36_500, 1e15));
      const { expiresAt } = await grant(plan('penny', 36_500, 1));
      expect(new Date(expiresAt ?? 0).getUTCFullYear()).to.equal(9999);
      expect(await grant(plan('penny', 36_500, 1))).to.include({ expiresAt });
    });

    it('follow a model for every purchase, refund and wait, and match the preview', () =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
          ({ accountId } = await signUp(state));
          const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 1 });
          const done: (Step & { refunded?: true; code?: string })[] = [];
          for (const each of steps) {
            const bought = done.filter(({ code, refunded }) => code !== undefined && !refunded);
            if (each.kind === 'wait') {
              clock.advance((each.halves * DAY_MS) / 2);
              done.push(each);
            } else if (each.kind === 'buy') {
              const { price, ...terms } = PLANS[each.name];
              let code: string | undefined;
              const shown = await preview(PLANS[each.name]);
              if (price) {
                ({ code } = await order(state, accountId, { terms, ...price }));
                expect(await state.orders.preview(code)).to.deep.equal(shown);
                await state.orders.confirm({ code, ...OPERATOR });
              } else await grant(terms);
              const { planId, expiresAt } = shown ?? {};
              expect(await planNow()).to.include({ planId, expiresAt });
              done.push({ ...each, code });
            } else {
              const refunded = bought[each.which];
              if (!refunded) continue;
              await state.orders.refund({ code: refunded.code ?? '', ...OPERATOR });
              refunded.refunded = true;
            }
            const [running] = replay(done).stack;
            for (const found of [await planNow(), await state.keys.find(key.id)]) {
              if (running) {
                const { halves } = running;
                const expiresAt = halves === null ? null : clock.now() + (halves * DAY_MS) / 2;
                expect(found, JSON.stringify(done)).to.include({ planId: running.name, expiresAt });
              } else if (found?.planId !== 'free') {
                expect(found?.expiresAt, JSON.stringify(done)).to.be.at.most(clock.now());
              }
            }
          }
        }),
        { numRuns: (engine.name === 'sqlite' ? 50 : 15) * (isLongRun ? 3 : 1) },
      ));
  });
}
