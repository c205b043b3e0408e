/** Budgets of money in the database. */

import { expect } from 'chai';
import type { Budget } from '../../../server/budgets/tables.js';
import { createPrices } from '../../../server/prices/prices.js';
import type { State } from '../../../server/state.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

/** In dollars for a million tokens: a token of input costs 0.15 micro units, one of output 2.5. */
const prices = createPrices({
  currency: 'USD',
  models: { 'm-5.5': { input: 0.15, output: 2.5 }, 'm-audio': { characters: 15 }, free: { input: 0, output: 0 } },
  links: [
    { platform: 'photo', method: 'browser', price: 0.003 },
    { platform: 'photo', price: 0.001 },
  ],
});
const demand = async () => ({ input: 1_000, hiddenInput: 0, output: 2_000, minOutput: 256, choices: 1 });
/** Of that demand: 150 for the input and 5,000 for the output. */
const WHOLE = 5_150;
/** The part of the input. */
const OF_INPUT = 150;
/** With the least output that it takes. */
const LEAST = 790;

for (const engine of engines) {
  describe(`budgets of money on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 0, 30, 12));
      state = await place.open({ clock, rateLimitClock: clock, prices });
    });

    after(() => place?.remove());

    async function create(costLimit: number, change: Partial<Budget> = {}): Promise<string> {
      const made = budget({ scope: 'key', planId: null, costLimit, currency: 'USD', resets: 'month', ...change });
      await state.budgets.create(made);
      return made.id;
    }

    const ask = (id: string, from = state, model: string = CHAT.model) =>
      from.admissions.admit({
        ...CHAT,
        model,
        reserve: { budgetId: null, furtherBudgets: [id], tokens: 1_000, demand },
      });

    it('are never overspent by a hundred parallel requests over two nodes, and are used completely', async () => {
      const other = await place.open({ clock, rateLimitClock: clock, prices });
      const limit = 60_000;
      const id = await create(limit);
      let admitted = 0;
      // An upstream that uses all that it is let.
      async function request(from: State): Promise<void> {
        const { reservation, reserved } = await ask(id, from);
        admitted += 1;
        const usage = { inputTokens: 1_000, outputTokens: reserved?.output ?? 0 };
        from.admissions.settle(settlement({ reservation, usage }));
      }
      const all = Array.from({ length: 100 }, (_, index) => request(index % 2 === 0 ? state : other));
      for (const outcome of await Promise.allSettled(all)) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.include({ code: 'insufficient_quota' });
      }
      for (const each of [state, other]) await each.admissions.flush();
      const { costUsed = 0, costReserved } = (await state.budgets.find(id)) ?? {};
      expect(admitted).to.be.at.least(Math.floor(limit / WHOLE));
      expect(costReserved).to.equal(0);
      expect(costUsed)
        .to.be.at.most(limit)
        .and.at.least(limit - LEAST);
      const totals = await state.usage.totals({ from: '2026-01-01', to: '2026-01-31' });
      expect(totals.reduce((sum, { cost }) => sum + cost, 0)).to.equal(costUsed);
    });

    it('limit the output to the rest, are settled by the real cost, and start again', async () => {
      const id = await create(WHOLE + 1_000);
      const first = await ask(id);
      expect(first.reserved).to.deep.equal({ input: 1_000, output: 2_000 });
      expect(await state.budgets.find(id)).to.include({ costReserved: WHOLE, costUsed: 0 });
      const second = await ask(id);
      // 850 beside the input.
      expect(second.reserved).to.deep.equal({ input: 1_000, output: 340 });
      expect((await rejection(ask(id))) as Error)
        .to.have.property('message')
        .that.equals(
          'The budget of this API key allows 0.00615 USD a month, of which 0 USD is free and this request may cost 0.00079 USD. It starts again at 2026-02-01T00:00:00.000Z.',
        );
      state.admissions.settle(
        settlement({ reservation: first.reservation, usage: { inputTokens: 800, outputTokens: 3 } }),
      );
      state.admissions.settle(settlement({ reservation: second.reservation, usage: undefined, status: 502 }));
      await state.admissions.flush();
      // 120 and 7.5, rounded half up.
      expect(await state.budgets.find(id)).to.include({ costReserved: 0, costUsed: 128, requestsUsed: 1 });
      clock.advance(2 * 24 * 3_600_000);
      expect(await state.budgets.find(id)).to.include({ costUsed: 0 });
      clock.advance(-2 * 24 * 3_600_000);
    });

    it('refuse a request without a price, or with one in another currency', async () => {
      const id = await create(1_000_000);
      const why = (from = state, model?: string) => rejection(ask(id, from, model));
      const unknown = await why(state, 'm-unknown');
      expect(unknown).to.include({ code: 'insufficient_quota' });
      expect(String(unknown)).to.contain('no price in USD is known for m-unknown').and.contain('PRICES_FILE');
      const euros = await create(1_000_000, { currency: 'EUR' });
      expect(String(await rejection(ask(euros)))).to.contain('no price in EUR is known for m-5.5');
      const unpriced = await place.open({ clock, rateLimitClock: clock });
      expect(String(await why(unpriced))).to.contain('no price in USD is known for m-5.5');
      expect(await state.budgets.find(id)).to.include({ costReserved: 0, requestsUsed: 0 });
      const spent = await create(0);
      await ask(spent, state, 'free');
      expect(await rejection(ask(spent))).to.include({ code: 'insufficient_quota' });
    });

    const extract = (id: string, from = state, links: readonly string[] = ['photo']) => {
      const reserve = { budgetId: null, furtherBudgets: [id], tokens: 0, uses: { links } };
      return from.admissions.admit({ ...CHAT, route: '/v1/extract', model: links.at(-1) ?? '', reserve });
    };

    it('are never overspent by a hundred parallel links over two nodes, some in batches', async () => {
      const other = await place.open({ clock, rateLimitClock: clock, prices });
      const limit = 70_000;
      const id = await create(limit);
      let [admitted, spent] = [0, 0];
      async function request(index: number): Promise<void> {
        const from = index % 2 === 0 ? state : other;
        const links = index % 10 === 0 ? 3 : 1;
        const { reservation = '' } = await extract(id, from, Array(links).fill('photo'));
        admitted += 1;
        const { costUsed = 0, costReserved = 0 } = (await state.budgets.find(id)) ?? {};
        expect(costUsed + costReserved).to.be.at.most(limit);
        const cost = links * (index % 3 === 0 ? 3_000 : 1_000);
        spent += cost;
        from.admissions.release(reservation, cost);
        from.admissions.release(reservation, cost);
      }
      for (const outcome of await Promise.allSettled(Array.from({ length: 100 }, (_, index) => request(index)))) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.include({ code: 'insufficient_quota' });
      }
      for (const each of [state, other]) await each.admissions.flush();
      expect(admitted).to.be.within(15, 99);
      expect(await state.budgets.find(id)).to.include({ costReserved: 0, costUsed: spent, requestsUsed: 0 });
      expect(spent).to.be.at.most(limit);
    });

    it('count links only in money, and explain why they refuse unpriced ones', async () => {
      const id = await create(6_000, { requestLimit: 0, tokenLimit: 0 });
      const { reservation = '' } = await extract(id);
      expect(await state.budgets.find(id)).to.include({ costReserved: 3_000, requestsUsed: 0 });
      expect(await rejection(extract(id, state, ['photo', 'photo']))).to.include({ code: 'insufficient_quota' });
      state.admissions.release(reservation, 0);
      await state.admissions.flush();
      expect(await state.budgets.find(id)).to.include({ costReserved: 0, costUsed: 0, requestsUsed: 0 });
      expect(String(await rejection(extract(id, state, ['photo', 'clips'])))).to.contain(
        'no price in USD is known for links of clips',
      );
      const ofTokens = await create(0, { costLimit: null, currency: null, tokenLimit: 0 });
      expect(await extract(ofTokens)).to.deep.equal({});
      expect(await extract('budget_gone')).to.deep.equal({});
    });

    it('charge the cost of links of a killed process', async () => {
      const dying = await create(3_000);
      const silent = await place.open({ clock, rateLimitClock: clock, prices, processLeaseMs: 1_000_000 });
      await extract(dying, silent);
      clock.advance(60_000);
      // Closed again: with such a lease it would take a busy process of the next test for a dead one.
      const other = await place.open({ clock, rateLimitClock: clock, prices, processLeaseMs: 300 });
      await until(async () => (await state.budgets.find(dying))?.costReserved === 0);
      await other.close();
      expect(await state.budgets.find(dying)).to.include({ costUsed: 3_000, requestsUsed: 0 });
    });

    it('count audio by its input, and charge the input of a killed process', async () => {
      const id = await create(1_000);
      const reserve = { budgetId: null, furtherBudgets: [id], tokens: 1, uses: { characters: 60 } };
      const speech = { ...CHAT, model: 'm-audio', reserve };
      const { reservation } = await state.admissions.admit(speech);
      expect(await state.budgets.find(id)).to.include({ costReserved: 900 });
      expect(await rejection(state.admissions.admit(speech))).to.include({ code: 'insufficient_quota' });
      const usage = { characters: 40 };
      state.admissions.settle(settlement({ model: 'm-audio', reservation, usage, spendsTokens: false }));
      await state.admissions.flush();
      expect(await state.budgets.find(id)).to.include({ costReserved: 0, costUsed: 600, tokensUsed: 0 });

      const dying = await create(WHOLE);
      const silent = await place.open({ clock, rateLimitClock: clock, prices, processLeaseMs: 1_000_000 });
      await ask(dying, silent);
      expect(await state.budgets.find(dying)).to.include({ costReserved: WHOLE, costUsed: 0 });
      clock.advance(60_000);
      // Closed again: with such a lease it would take a busy process of the next test for a dead one.
      const other = await place.open({ clock, rateLimitClock: clock, prices, processLeaseMs: 300 });
      await until(async () => (await state.budgets.find(dying))?.costReserved === 0);
      await other.close();
      expect(await state.budgets.find(dying)).to.include({ costUsed: OF_INPUT });
      const entries = await state.usage.entries({ from: '2026-01-01', to: '2026-01-31' }, 1_000);
      const cutOff = entries.filter(({ status, estimated }) => status === 500 && estimated);
      expect(cutOff.map(({ cost }) => cost)).to.include(OF_INPUT);
    });
  });
}
