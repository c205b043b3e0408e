/** The usage log: entries, totals and what is deleted when. */

import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import type { UsageTotal } from '../../../server/usage/tables.js';
import type { Settlement, UsageEntry } from '../../../server/usage/usage-log.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { budget, settlement } from '../../support/models/model-requests.js';
import { until } from '../../support/until.js';

const DAY_MS = 24 * 3_600_000;
const ALL = { from: '2025-01-01', to: '2027-01-01' };

for (const engine of engines) {
  describe(`the usage log on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 5, 15, 12));
      state = await place.open({ clock, rateLimitClock: clock });
    });

    afterEach(() => place?.remove());

    async function settle(...settlements: Settlement[]): Promise<void> {
      for (const each of settlements) state.admissions.settle(each);
      await state.admissions.flush();
    }

    it('stores the reported usage of a request, with unknown apart from zero', async () => {
      const at = clock.now();
      const usage = {
        inputTokens: 7,
        cachedTokens: 0,
        cacheWriteTokens: 2,
        outputTokens: 5,
        totalTokens: 12,
        reasoningTokens: 3,
      };
      const text = settlement({ requestId: 'req-1', at, latencyMs: 12.6, usage: { ...usage, estimated: true } });
      const sound = settlement({ requestId: 'req-2', at: at + 1, usage: { seconds: 2.5, characters: 40 } });
      const sumOnly = settlement({ requestId: 'req-3', at: at + 2, usage: { inputTokens: 4, totalTokens: 10 } });
      const absurd = settlement({
        requestId: 'req-4',
        at: at + 3,
        usage: { inputTokens: -1, outputTokens: Number.NaN },
      });
      await settle(text, sound, sumOnly, absurd);
      const base = { keyId: 'key1', accountId: 'local', route: '/v1/chat/completions', model: 'm-5.5', status: 200 };
      const unknown = {
        inputTokens: null,
        cachedTokens: null,
        cacheWriteTokens: null,
        outputTokens: null,
        reasoningTokens: null,
        characters: null,
        seconds: null,
        images: null,
        estimated: false,
        cost: null,
        errorCode: null,
        refused: false,
      };
      const { totalTokens, ...known } = usage;
      expect(await state.usage.entries(ALL, 10)).to.deep.equal([
        { ...base, ...unknown, requestId: 'req-4', at: at + 3, latencyMs: 120 },
        { ...base, ...unknown, requestId: 'req-3', at: at + 2, latencyMs: 120, inputTokens: 4, outputTokens: 6 },
        { ...base, ...unknown, requestId: 'req-2', at: at + 1, latencyMs: 120, seconds: 2.5, characters: 40 },
        { ...base, ...unknown, ...known, requestId: 'req-1', at, latencyMs: 13, estimated: true },
      ] satisfies UsageEntry[]);
      expect(totalTokens).to.equal(12);
    });

    it('has an entry once that is settled again, at the same time or later, beside new ones', async () => {
      const [first, other] = [settlement({ requestId: 'first' }), settlement({ requestId: 'other', status: 500 })];
      const next = settlement({ requestId: 'next', usage: { inputTokens: 1, cachedTokens: 1 } });
      await settle(first, other, first);
      await settle(other, next);
      await settle(first, next);
      const entries = await state.usage.entries(ALL, 10);
      expect(entries.map(({ requestId }) => requestId).sort()).to.deep.equal(['first', 'next', 'other']);
      expect(entries.find(({ requestId }) => requestId === 'next')).to.include({ cachedTokens: 1, refused: false });
      const totals = await state.usage.totals(ALL);
      expect(totals.map(({ requests, failed, cachedTokens }) => [requests, failed, cachedTokens])).to.deep.equal([
        [3, 1, 1],
      ]);
    });

    it('is written by itself within moments', async () => {
      state.admissions.settle(settlement());
      await until(async () => (await state.usage.totals(ALL)).length > 0);
    });

    it('is read by key, account and day, newest first', async () => {
      const at = Date.UTC(2026, 5, 15);
      for (const [keyId, accountId] of [
        ['a', 'one'],
        ['b', 'one'],
        ['c', 'two'],
      ] as const) {
        const record = { name: keyId, hash: '', pepperVersion: 1, grants: [], rpm: null, planId: null, budgetId: null };
        const times = { createdAt: 1, expiresAt: null, revokedAt: null, suspendedAt: null, lastUsedAt: null };
        const none = { models: null, imageDailyLimit: null, replacedBy: null };
        await state.keys.insert({ ...record, ...times, ...none, id: keyId, accountId });
        await settle(
          settlement({ keyId, accountId, at: at - 1, requestId: `${keyId}-14` }),
          settlement({ keyId, accountId, at, requestId: `${keyId}-15` }),
          settlement({ keyId, accountId, at: at + DAY_MS, requestId: `${keyId}-16`, status: 500 }),
        );
      }
      const today = { from: '2026-06-15', to: '2026-06-15' };
      const keysOf = (totals: readonly UsageTotal[]) => totals.map(({ day, keyId }) => `${keyId} ${day.slice(-2)}`);
      expect(keysOf(await state.usage.totals(today))).to.deep.equal(['a 15', 'b 15', 'c 15']);
      expect(keysOf(await state.usage.totals({ ...ALL, keyId: 'b' }))).to.deep.equal(['b 16', 'b 15', 'b 14']);
      expect(keysOf(await state.usage.totals({ ...today, to: '2026-06-16', accountId: 'one' }))).to.deep.equal([
        'a 16',
        'b 16',
        'a 15',
        'b 15',
      ]);
      const ids = (entries: readonly UsageEntry[]) => entries.map(({ requestId }) => requestId);
      expect(ids(await state.usage.entries({ ...today, accountId: 'one' }, 10))).to.deep.equal(['a-15', 'b-15']);
      expect(ids(await state.usage.entries({ ...ALL, keyId: 'c' }, 2))).to.deep.equal(['c-16', 'c-15']);
      expect(await state.usage.entries({ ...ALL, keyId: 'c', accountId: 'one' }, 2)).to.deep.equal([]);
    });

    it('has totals that are the sums of its entries', async () => {
      const budgets = [budget({ tokenLimit: 5_000_000 }), budget({ tokenLimit: 5_000_000 })];
      for (const each of budgets) await state.budgets.create(each);
      const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
      const count = () => Math.floor(Math.random() * 1_000);
      const other = await place.open({ clock, rateLimitClock: clock });
      let told = 0;
      async function request(node: State): Promise<void> {
        const name = {
          keyId: pick(['a', 'b']),
          accountId: 'local',
          route: pick(['/x', '/y']),
          model: pick(['m', 'n']),
        };
        const reserve = pick([undefined, ...budgets.map(({ id }) => ({ budgetId: id, tokens: 900 }))]);
        const { reservation } = await node.admissions.admit({ ...name, ...(reserve && { reserve }) });
        const usage = pick([
          undefined,
          { inputTokens: count(), outputTokens: count(), cachedTokens: count(), cacheWriteTokens: count() },
          { seconds: count() / 8, characters: count() },
          { outputTokens: count(), estimated: true },
        ]);
        const status = pick([200, 429, 502]);
        const at = clock.now() + pick([0, DAY_MS, 1, 2]);
        const ended = settlement({ ...name, reservation, usage, status, at });
        told += 1;
        for (let round = pick([1, 1, 2]); round > 0; round -= 1) node.admissions.settle(ended);
      }
      await Promise.all(Array.from({ length: 700 }, (_, index) => request(index % 2 === 0 ? state : other)));
      await Promise.all([state.admissions.flush(), other.admissions.flush()]);

      const entries = await state.usage.entries(ALL, 10_000);
      const totals = await state.usage.totals(ALL);
      expect(entries).to.have.length(told);
      const sums = new Map<string, Record<string, number>>();
      const countsOf = (entry: UsageEntry): Record<string, number> => ({
        requests: 1,
        failed: entry.status >= 400 ? 1 : 0,
        estimated: entry.estimated ? 1 : 0,
        inputTokens: entry.inputTokens ?? 0,
        cachedTokens: entry.cachedTokens ?? 0,
        cacheWriteTokens: entry.cacheWriteTokens ?? 0,
        outputTokens: entry.outputTokens ?? 0,
        characters: entry.characters ?? 0,
        seconds: entry.seconds ?? 0,
        latencyMsSum: entry.latencyMs,
      });
      for (const entry of entries) {
        const day = new Date(entry.at).toISOString().slice(0, 10);
        const name = [day, entry.keyId, entry.route, entry.model].join();
        const sum = sums.get(name) ?? {};
        for (const [member, value] of Object.entries(countsOf(entry))) sum[member] = (sum[member] ?? 0) + value;
        sums.set(name, sum);
      }
      expect(totals).to.have.length(sums.size);
      for (const total of totals) {
        expect(total).to.include(sums.get([total.day, total.keyId, total.route, total.model].join()));
      }
      let tokens = 0;
      for (const { id } of budgets) {
        const found = await state.budgets.find(id);
        expect(found?.tokensReserved).to.equal(0);
        tokens += found?.tokensUsed ?? 0;
      }
      expect(tokens).to.be.within(
        1,
        totals.reduce((sum, each) => sum + each.inputTokens + each.outputTokens, 0),
      );
    });

    it('deletes entries after 30 days and stored responses after 30, never totals', async () => {
      const record = { name: 'a', hash: '', pepperVersion: 1, grants: [], rpm: null, planId: null, budgetId: null };
      const times = { createdAt: 1, expiresAt: null, revokedAt: null, suspendedAt: null, lastUsedAt: null };
      const none = { models: null, imageDailyLimit: null, replacedBy: null };
      await state.keys.insert({ ...record, ...times, ...none, id: 'a', accountId: 'local' });
      const now = clock.now();
      await settle(
        settlement({ keyId: 'a', at: now - 31 * DAY_MS }),
        settlement({ keyId: 'a', at: now - 29 * DAY_MS, requestId: 'kept' }),
      );
      const response = { owner: 'local', model: 'm-5.5', upstream: 'one' };
      state.storedResponses.remember({ ...response, id: 'old', createdAt: now - 31 * DAY_MS });
      state.storedResponses.remember({ ...response, id: 'young', createdAt: now - 29 * DAY_MS });
      await state.close();
      // What is over is deleted soon after the start.
      state = await place.open({ clock, rateLimitClock: clock });
      await until(async () => (await state.usage.entries(ALL, 10)).length === 1);
      await until(async () => (await state.storedResponses.find('old', 'local')) === undefined);
      expect((await state.usage.entries(ALL, 10))[0]?.requestId).to.equal('kept');
      expect(await state.usage.totals(ALL)).to.have.length(2);
      expect(await state.storedResponses.find('young', 'local')).to.include({ id: 'young' });
    });
  });
}
