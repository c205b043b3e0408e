/** Admissions: slots, reservations, settlements and their refunds. */

import { expect } from 'chai';
import type { Budget } from '../../../server/budgets/tables.js';
import type { State } from '../../../server/state.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';
import { rejection } from '../../support/rejection.js';

const DAY_MS = 24 * 3_600_000;

for (const engine of engines) {
  describe(`admissions on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 0, 30, 12));
      state = await place.open({ clock, rateLimitClock: clock });
    });

    afterEach(() => place?.remove());

    async function createBudget(change: Partial<Budget>): Promise<string> {
      const made = budget(change);
      await state.budgets.create(made);
      return made.id;
    }

    const slot = (limit: number) => ({ keyId: CHAT.keyId, family: 'model' as const, count: 1, limit });
    const ask = (budgetId: string, tokens = 10, from = state) =>
      from.admissions.admit({ ...CHAT, reserve: { budgetId, tokens } });

    async function use(budgetId: string, tokens: number): Promise<void> {
      const { reservation } = await ask(budgetId, tokens);
      state.admissions.settle(settlement({ reservation, usage: { totalTokens: tokens } }));
      await state.admissions.flush();
    }

    /** How many of a hundred that ask at once are let in. */
    async function admittedOf(ids: readonly (() => Promise<unknown>)[]): Promise<number> {
      const outcomes = await Promise.allSettled(ids.map((each) => each()));
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.include({ code: 'insufficient_quota' });
      }
      return outcomes.filter(({ status }) => status === 'fulfilled').length;
    }

    it('admit a request without window and budget', async () => {
      expect(await state.admissions.admit(CHAT)).to.deep.equal({});
    });

    it('take a slot of the common window', async () => {
      const { rateLimit: answer, reservation } = await state.admissions.admit({ ...CHAT, rateLimit: slot(2) });
      expect(answer).to.include({ accepted: true, remaining: 1 });
      expect(reservation).to.equal(undefined);
      expect(await state.rateLimits.consume(slot(2))).to.include({ accepted: true, remaining: 0 });
      const refused = await state.admissions.admit({ ...CHAT, rateLimit: slot(2) });
      expect(refused.rateLimit).to.include({ accepted: false, retryAfterMs: 60_000 });
    });

    it('admit exactly as many simultaneous requests as the budget has, over two nodes', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      const id = await createBudget({ requestLimit: 60 });
      const asked = Array.from({ length: 100 }, (_, index) => () => ask(id, 0, index % 2 === 0 ? state : other));
      expect(await admittedOf(asked)).to.equal(60);
      expect(await state.budgets.find(id)).to.include({ requestsUsed: 60, tokensReserved: 0 });
    });

    it('admit exactly as many requests as there are tokens to reserve', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      const id = await createBudget({ tokenLimit: 60 * 7 + 6 });
      const asked = Array.from({ length: 100 }, (_, index) => () => ask(id, 7, index % 2 === 0 ? state : other));
      expect(await admittedOf(asked)).to.equal(60);
      expect(await state.budgets.find(id)).to.include({ tokensReserved: 420, tokensUsed: 0 });
    });

    it('take no slot for a request that the budget refuses, and no tokens for one that the window refuses', async () => {
      const id = await createBudget({ tokenLimit: 10 });
      const wish = { ...CHAT, rateLimit: slot(1) };
      const refusal = await rejection(state.admissions.admit({ ...wish, reserve: { budgetId: id, tokens: 11 } }));
      expect(refusal).to.include({ code: 'insufficient_quota' });
      expect(await state.rateLimits.peek(slot(1))).to.include({ remaining: 1 });
      expect((await state.admissions.admit({ ...wish, reserve: { budgetId: id, tokens: 4 } })).rateLimit).to.include({
        accepted: true,
      });
      const refused = await state.admissions.admit({ ...wish, reserve: { budgetId: id, tokens: 4 } });
      expect(refused.rateLimit).to.include({ accepted: false });
      expect(refused.reservation).to.equal(undefined);
      expect(await state.budgets.find(id)).to.include({ tokensReserved: 4, requestsUsed: 1 });
    });

    it('replace the reservation by the usage', async () => {
      const id = await createBudget({ tokenLimit: 1_000 });
      const { reservation } = await ask(id, 600);
      expect(await rejection(ask(id, 500))).to.include({ code: 'insufficient_quota' });
      state.admissions.settle(settlement({ reservation, usage: { inputTokens: 30, outputTokens: 70 } }));
      await state.admissions.flush();
      const left = { tokensReserved: 0, tokensUsed: 100, tokensUsedToday: 100, requestsUsed: 1 };
      expect(await state.budgets.find(id)).to.include(left);
      await ask(id, 900);
      expect(await rejection(ask(id, 1))).to.include({ code: 'insufficient_quota' });
    });

    it('grant the requested output, or the rest, and count tokens only for a budget that limits them', async () => {
      let counts = 0;
      const demand = async () => {
        counts += 1;
        return { input: 100, hiddenInput: 50, output: 1_000, minOutput: 512, choices: 2 };
      };
      const admit = (budgetId: string) => state.admissions.admit({ ...CHAT, reserve: { budgetId, tokens: 7, demand } });
      const requests = await createBudget({ requestLimit: 1 });
      expect((await admit(requests)).reserved).to.equal(undefined);
      expect(await state.budgets.find(requests)).to.include({ tokensReserved: 7 });
      expect(counts).to.equal(0);

      const id = await createBudget({ tokenLimit: 10_000, dailyTokenLimit: 1_771 });
      expect((await admit(id)).reserved).to.deep.equal({ input: 150, output: 1_000 });
      // 621 are left: an even share for each choice, and the odd one for input that the gateway cannot see.
      expect((await admit(id)).reserved).to.deep.equal({ input: 101, output: 520 });
      expect(await rejection(admit(id))).to.include({ code: 'insufficient_quota' });
      const small = await createBudget({ tokenLimit: 611 });
      expect(await rejection(admit(small))).to.include({ code: 'insufficient_quota' });
      expect(await state.budgets.find(small)).to.include({ tokensReserved: 0, requestsUsed: 0 });
    });

    it('ignore a second settlement', async () => {
      const id = await createBudget({ tokenLimit: 1_000 });
      const { reservation } = await ask(id, 600);
      const held = settlement({ reservation });
      const free = settlement();
      for (let round = 0; round < 2; round += 1) {
        for (const each of [held, free, free]) state.admissions.settle(each);
        await state.admissions.flush();
      }
      // Told again with another id: what it held is settled all the same.
      state.admissions.settle({ ...held, requestId: 'other' });
      await state.admissions.flush();
      expect(await state.budgets.find(id)).to.include({ tokensReserved: 0, tokensUsed: 30, requestsUsed: 1 });
      const [total] = await state.usage.totals({ from: '2026-01-01', to: '2026-01-01' });
      expect(total).to.include({ requests: 2, inputTokens: 20, outputTokens: 40, latencyMsSum: 240 });
      expect(await state.usage.entries({ from: '2026-01-01', to: '2026-01-01' }, 10)).to.have.length(2);
    });

    it('refund a request that failed and used nothing, unless its client disconnected', async () => {
      const id = await createBudget({ requestLimit: 10, tokenLimit: 1_000 });
      for (const status of [502, 400, 499]) {
        const { reservation } = await ask(id, 100);
        state.admissions.settle(settlement({ reservation, status, usage: undefined }));
      }
      const { reservation } = await ask(id, 100);
      state.admissions.settle(settlement({ reservation, status: 502, usage: { outputTokens: 3, estimated: true } }));
      await state.admissions.flush();
      const left = { requestsUsed: 2, tokensReserved: 0, tokensUsed: 3, tokensUsedToday: 3 };
      expect(await state.budgets.find(id)).to.include(left);
      const [total] = await state.usage.totals({ from: '2026-01-01', to: '2026-01-01' });
      expect(total).to.include({ requests: 4, failed: 4, estimated: 1, outputTokens: 3 });
    });

    it('delete the usage of a day and a month when they are over', async () => {
      const daily = await createBudget({ dailyTokenLimit: 100, createdAt: clock.now() });
      const monthly = await createBudget({ tokenLimit: 100, requestLimit: 5, resets: 'month', createdAt: clock.now() });
      for (const id of [daily, monthly]) await use(id, 90);
      for (const id of [daily, monthly])
        expect(await rejection(ask(id, 11))).to.include({ code: 'insufficient_quota' });
      const overnight = await ask(monthly, 10);

      clock.advance(DAY_MS);
      await use(daily, 50);
      expect(await rejection(ask(monthly, 1))).to.include({ code: 'insufficient_quota' });
      expect(await state.budgets.find(daily)).to.include({ tokensUsed: 140, tokensUsedToday: 50 });

      clock.advance(DAY_MS);
      expect(await state.budgets.find(monthly)).to.include({ tokensUsed: 0, requestsUsed: 0, tokensReserved: 10 });
      await use(monthly, 90);
      // One of last month that failed: its request is not among those of this one.
      const { reservation } = overnight;
      state.admissions.settle(settlement({ reservation, status: 500, usage: undefined }));
      await state.admissions.flush();
      expect(await state.budgets.find(monthly)).to.include({ tokensUsed: 90, requestsUsed: 1, tokensReserved: 0 });

      clock.wall -= 10 * DAY_MS;
      expect(await state.budgets.find(monthly)).to.include({ tokensUsed: 90, requestsUsed: 1 });
    });

    it('count tokens of running requests against the limit of a day, and grant exactly the rest', async () => {
      const daily = await createBudget({ dailyTokenLimit: 100, createdAt: clock.now() });
      const first = await ask(daily, 60);
      expect(await rejection(ask(daily, 41))).to.include({ code: 'insufficient_quota' });
      const second = await ask(daily, 40);
      expect(await rejection(ask(daily, 1))).to.include({ code: 'insufficient_quota' });
      for (const [{ reservation }, totalTokens] of [
        [first, 20],
        [second, 40],
      ] as const)
        state.admissions.settle(settlement({ reservation, usage: { totalTokens } }));
      await state.admissions.flush();
      // 60 of 100 are used: what was held beyond that is free again.
      expect(await rejection(ask(daily, 41))).to.include({ code: 'insufficient_quota' });
      await use(daily, 40);
      expect(await rejection(ask(daily, 1))).to.include({ code: 'insufficient_quota' });
      await ask(daily, 0);
    });

    it('grant simultaneous requests no more than the limit of a day', async () => {
      const daily = await createBudget({ dailyTokenLimit: 100, createdAt: clock.now() });
      expect(await admittedOf(Array.from({ length: 30 }, () => () => ask(daily, 10)))).to.equal(10);
      expect(await state.budgets.find(daily)).to.include({ tokensReserved: 100, tokensUsedToday: 0 });
    });

    it('grant exactly the rest of all tokens and requests, and end at the exact instant', async () => {
      const total = await createBudget({ tokenLimit: 100, requestLimit: 3 });
      await use(total, 99);
      expect(await rejection(ask(total, 2))).to.include({ code: 'insufficient_quota' });
      await use(total, 1);
      await ask(total, 0);
      expect(await rejection(ask(total, 0)))
        .to.have.property('message')
        .that.includes('3 requests');
      const ending = await createBudget({ tokenLimit: 100, expiresAt: clock.now() + 1_000 });
      clock.advance(999);
      await ask(ending, 1);
      clock.advance(1);
      expect(await rejection(ask(ending, 0)))
        .to.have.property('message')
        .that.includes('ended');
    });

    it('end with the plan, and are refused without one', async () => {
      const ending = await createBudget({ tokenLimit: 100, requestLimit: 1, expiresAt: clock.now() + 1_000 });
      await use(ending, 60);
      expect(await rejection(ask(ending, 1)))
        .to.have.property('message')
        .that.includes('1 requests');
      clock.advance(2_000);
      expect(await rejection(ask(ending, 0)))
        .to.have.property('message')
        .that.includes('ended');
      expect(await rejection(ask('nobody'))).to.include({ code: 'insufficient_quota' });
      expect(await state.budgets.find('nobody')).to.equal(undefined);
    });

    it('return a budget unchanged', async () => {
      const made = budget({
        tokenLimit: 300_000_000,
        dailyTokenLimit: 5,
        requestLimit: 50,
        resets: 'day',
        expiresAt: clock.now(),
        createdAt: clock.now(),
      });
      await state.budgets.create(made);
      const unused = {
        tokensUsed: 0,
        tokensReserved: 0,
        requestsUsed: 0,
        tokensUsedToday: 0,
        costUsed: 0,
        costReserved: 0,
      };
      expect(await state.budgets.find(made.id)).to.deep.equal({ ...made, ...unused });
    });
  });
}
