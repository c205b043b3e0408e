/** Responses in the background in the database. */

import { expect } from 'chai';
import type { Usage } from '../../../core/contracts/documents.js';
import { createPrices } from '../../../server/prices/index.js';
import type { State } from '../../../server/state.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';

const DAY_MS = 24 * 3_600_000;
const ALL = { from: '2025-01-01', to: '2027-01-01' };
const TIMES = { firstMs: 1_000, lastMs: 3_000 };
const ESTIMATE: Usage = { inputTokens: 10, outputTokens: 1_024, totalTokens: 1_034, estimated: true };
const REAL: Usage = { inputTokens: 12, outputTokens: 5_000, reasoningTokens: 4_000, totalTokens: 5_012 };

for (const engine of engines) {
  describe(`responses in the background on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let other: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 5, 15, 12));
      const settings = { clock, rateLimitClock: clock };
      state = await place.open(settings);
      other = await place.open(settings);
    });

    afterEach(() => place?.remove());

    async function begin(responseId: string, change: Parameters<typeof budget>[0] = {}) {
      const made = budget({ tokenLimit: 100_000, createdAt: clock.now(), ...change });
      await state.budgets.create(made);
      const { reservation } = await state.admissions.admit({ ...CHAT, reserve: { budgetId: made.id, tokens: 1_100 } });
      const background = { responseId, upstream: 'https://a.example', budgetId: made.id };
      state.admissions.settle(settlement({ reservation, usage: ESTIMATE, background, at: clock.now() }));
      await state.admissions.flush();
      return made.id;
    }

    const correct = async (of: State, responseId: string, usage: Usage | undefined, final = true) => {
      of.backgroundResponses.correct({ responseId, owner: 'local', upstream: 'https://a.example', usage, final });
      await of.backgroundResponses.flushInTime();
    };
    const total = async () => {
      const [only, ...more] = await state.usage.totals(ALL);
      expect(more).to.deep.equal([]);
      return only;
    };

    it('are counted by an estimate, and then once by their usage, in the day they began', async () => {
      const budgetId = await begin('resp_1');
      expect(await total()).to.include({ day: '2026-06-15', requests: 1, estimated: 1, outputTokens: 1_024 });
      expect(await state.budgets.find(budgetId)).to.include({ tokensUsed: 1_034, tokensReserved: 0, requestsUsed: 1 });
      clock.advance(DAY_MS / 2 + 1);
      // Two nodes, each told twice.
      await Promise.all([state, other, state, other].map((each) => correct(each, 'resp_1', REAL)));
      const used = { requests: 1, estimated: 0, inputTokens: 12, outputTokens: 5_000, reasoningTokens: 4_000 };
      expect(await total()).to.include({ day: '2026-06-15', ...used });
      const [entry] = await state.usage.entries(ALL, 10);
      expect(entry).to.include({ inputTokens: 12, outputTokens: 5_000, estimated: false, status: 200 });
      // What it used beyond that is used on the day that it is known.
      const found = await state.budgets.find(budgetId);
      expect(found).to.include({ tokensUsed: 5_012, tokensUsedToday: 3_978, requestsUsed: 1 });
    });

    it('have the cost of their usage once it is known', async () => {
      const prices = createPrices({ currency: 'USD', models: { 'm-5.5': { input: 1.25, output: 10 } } });
      const priced = await place.open({ clock, rateLimitClock: clock, prices });
      const background = { responseId: 'resp_1', upstream: 'https://a.example', budgetId: null };
      priced.admissions.settle(settlement({ usage: ESTIMATE, background, at: clock.now() }));
      await priced.admissions.flush();
      const costs = async () => {
        const [entry] = await state.usage.entries(ALL, 10);
        const { priced: count, cost } = (await total()) ?? {};
        return [entry?.cost, count, cost];
      };
      expect(await costs()).to.deep.equal([10_253, 1, 10_253]);
      await correct(priced, 'resp_1', REAL);
      expect(await costs()).to.deep.equal([50_015, 1, 50_015]);
    });

    it('refund unused tokens only to the day and the period of the reservation', async () => {
      const small: Usage = { inputTokens: 10, outputTokens: 4, totalTokens: 14 };
      const same = await begin('resp_1', { resets: 'day' });
      await correct(state, 'resp_1', small);
      expect(await state.budgets.find(same)).to.include({ tokensUsed: 14, tokensUsedToday: 14 });
      const later = await begin('resp_2', { resets: 'day' });
      clock.advance(DAY_MS);
      const { reservation } = await state.admissions.admit({ ...CHAT, reserve: { budgetId: later, tokens: 100 } });
      state.admissions.settle(
        settlement({ reservation, usage: { inputTokens: 50, outputTokens: 50 }, at: clock.now() }),
      );
      await correct(state, 'resp_2', small);
      expect(await state.budgets.find(later)).to.include({ tokensUsed: 100, tokensUsedToday: 100 });
    });

    it('are raised by received usage, never lowered, and stay so without an end', async () => {
      await begin('resp_1');
      const heard = (outputTokens: number): Usage => ({ outputTokens, estimated: true });
      await correct(state, 'resp_1', heard(3), false);
      expect(await total()).to.include({ inputTokens: 10, outputTokens: 1_024, estimated: 1 });
      await correct(state, 'resp_1', heard(2_000), false);
      expect(await total()).to.include({ inputTokens: 10, outputTokens: 2_000, estimated: 1 });
      expect(await state.backgroundResponses.isOpen('resp_1', 'local')).to.equal(true);
      await correct(state, 'resp_1', undefined);
      expect(await state.backgroundResponses.isOpen('resp_1', 'local')).to.equal(false);
      await correct(state, 'resp_1', REAL);
      expect(await total()).to.include({ inputTokens: 10, outputTokens: 2_000, estimated: 1 });
    });

    it('are corrected by complete usage, also without a budget, and not those of others', async () => {
      const background = { responseId: 'resp_1', upstream: 'https://a.example', budgetId: null };
      state.admissions.settle(settlement({ usage: ESTIMATE, background, at: clock.now() }));
      const told = { responseId: 'resp_1', usage: REAL, final: true };
      state.backgroundResponses.correct({ ...told, owner: 'another', upstream: 'https://a.example' });
      // Another upstream names its own as it likes.
      state.backgroundResponses.correct({ ...told, owner: 'local', upstream: 'https://b.example' });
      await state.admissions.flush();
      expect(await total()).to.include({ outputTokens: 1_024 });
      state.admissions.settle(
        settlement({ usage: ESTIMATE, background: { ...background, responseId: 'resp_2' }, at: clock.now() }),
      );
      await Promise.all(['resp_1', 'resp_2'].map((id) => correct(state, id, REAL)));
      expect(await total()).to.include({ requests: 2, estimated: 0, outputTokens: 10_000 });
    });

    it('are counted if their id from the upstream cannot be stored', async () => {
      for (const responseId of ['resp_\u0000', `resp_${'x'.repeat(10_000)}`, 'resp_\ud800', '']) {
        const background = { responseId, upstream: 'https://a.example', budgetId: null };
        state.admissions.settle(settlement({ usage: ESTIMATE, background, at: clock.now() }));
        expect(await state.backgroundResponses.isOpen(responseId, 'local')).to.equal(false);
      }
      await state.admissions.flush();
      expect(await total()).to.include({ requests: 4 });
    });

    it('are polled by one process at a time, and ever less often', async () => {
      const ids = Array.from({ length: 12 }, (_, index) => `resp_${index}`);
      for (const id of ids) await begin(id);
      const takes = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          (index % 2 === 0 ? state : other).backgroundResponses.takeDue(2, TIMES),
        ),
      );
      const rest = await state.backgroundResponses.takeDue(100, TIMES);
      expect([...takes.flat(), ...rest].map(({ id }) => id)).to.have.members(ids);
      const waits: number[] = [];
      for (let waited = 0; waits.length < 4; ) {
        clock.advance(500);
        waited += 500;
        const due = await other.backgroundResponses.takeDue(100, TIMES);
        if (due.length === 0) continue;
        expect(due).to.have.length(12);
        waits.push(waited);
        waited = 0;
      }
      expect(waits).to.deep.equal([1_000, 2_000, 3_000, 3_000]);
      const [one] = await state.backgroundResponses.takeDue(1, TIMES);
      expect(one).to.equal(undefined);
      clock.advance(3_000);
      const [aged] = await state.backgroundResponses.takeDue(1, TIMES);
      expect(aged).to.include({ owner: 'local', model: 'm-5.5', upstream: 'https://a.example', ageMs: 12_000 });
    });
  });
}
