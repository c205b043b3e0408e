/** Single requests of the usage log: pages, filters, deletion and bounds. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { DatabaseClock, sql } from '../../../core/database/index.js';
import type { State } from '../../../server/state.js';
import { RequestCounts } from '../../../server/usage/request-counts.js';
import { RequestInputs } from '../../../server/usage/request-inputs.js';
import { RequestLog, type RequestPlace, type RequestQuery } from '../../../server/usage/request-log.js';
import { UsageLog } from '../../../server/usage/usage-log.js';
import { UsageSweeper } from '../../../server/usage/usage-sweep.js';
import { engines, ListLogger, ManualClock, type Place } from '../../support/databases/engines.js';
import { settlement } from '../../support/models/model-requests.js';

const DAY_MS = 24 * 3_600_000;
const NOW = Date.UTC(2026, 5, 15, 12);
const ALL: RequestQuery = { keyIds: ['a', 'b'], accountId: 'one', from: 0, to: NOW + DAY_MS };
const REFUSED = { accountId: 'one', route: '/v1/extract', status: 429, errorCode: 'rate_limit_exceeded', latencyMs: 2 };

for (const engine of engines) {
  describe(`single requests of the usage log on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(NOW);
      state = await place.open({ clock, rateLimitClock: clock });
    });
    afterEach(async () => {
      await state.close();
      await place.remove();
    });

    async function makeKey(id: string, accountId: string): Promise<void> {
      const record = { name: id, hash: '', pepperVersion: 1, grants: [], rpm: null, planId: null, budgetId: null };
      const times = { createdAt: 1, expiresAt: null, revokedAt: null, suspendedAt: null, lastUsedAt: null };
      const none = { models: null, imageDailyLimit: null, replacedBy: null };
      await state.keys.insert({ ...record, ...times, ...none, id, accountId });
    }

    /** Ten requests of two keys of the account, of which one failed, one broke off and one was refused. */
    async function fill(): Promise<void> {
      for (const keyId of ['a', 'b']) await makeKey(keyId, 'one');
      for (let index = 0; index < 9; index += 1) {
        const keyId = index % 2 === 0 ? 'a' : 'b';
        const failure = index === 3 ? { status: 502, errorCode: 'upstream_error', usage: undefined } : {};
        const broken = index === 6 ? { errorCode: 'upstream_timeout', model: 'm-5.4' } : {};
        const at = NOW - 3_600_000 + 10 * Math.floor(index / 2);
        const one = { accountId: 'one', keyId, at, requestId: `req_${index}`, ...failure, ...broken };
        state.admissions.settle(settlement(one));
      }
      state.admissions.settle(settlement({ keyId: 'c', accountId: 'two', requestId: 'foreign', at: NOW - 60_000 }));
      await state.admissions.flush();
      state.usage.refuse({ ...REFUSED, keyId: 'b', requestId: 'mine/req_9', at: NOW });
      await state.usage.flushCounts();
    }

    async function names(query: Partial<RequestQuery> = {}): Promise<string[]> {
      const rows = await state.requestLog.list({ ...ALL, ...query }, 50);
      return rows.map(({ requestId }) => requestId);
    }

    it('are found by an id that says when it was made, by an older one, and by those of clients and jobs', async () => {
      await fill();
      const at = Date.UTC(2027, 0, 2, 12);
      const idOf = (madeAt: number) => {
        const bytes = Buffer.alloc(12, 7);
        bytes.writeUInt32BE(Math.floor(madeAt / 1_000), 0);
        return `req_${bytes.toString('base64url')}`;
      };
      const own = [at - 90_000, at - 12 * 3_600_000, Date.UTC(2001, 0), Date.UTC(2090, 0)].map(idOf);
      const ids = [...own, 'client-1/req_1', 'client-1.a/req_2', 'client-10/req_3', 'imgjob_1', 'req_mine/req_4'];
      for (const requestId of ids) {
        state.admissions.settle(settlement({ accountId: 'one', keyId: 'a', at, requestId }));
      }
      await state.admissions.flush();
      const range = { from: 0, to: at + DAY_MS };
      const find = async (requestId: string, more = {}) => {
        const rows = await state.requestLog.listAll({ ...range, ...more, requestId }, 5);
        return rows.map((row) => row.requestId);
      };
      for (const requestId of ids) {
        const shown = requestId.split('/')[0] ?? '';
        expect(await find(shown), shown).to.deep.equal([requestId]);
        expect(await find(shown, { to: at }), shown).to.deep.equal([]);
      }
      for (const none of [idOf(at), 'client', 'client-1.', 'req_none', '%']) expect(await find(none)).to.deep.equal([]);
    });

    it('are read newest first, in pages that miss none and repeat none', async () => {
      await fill();
      const all = await names();
      expect(all).to.have.length(10);
      expect(all[0]).to.equal('mine/req_9');
      for (const limit of [1, 3, 4, 10]) {
        const read: string[] = [];
        for (let after: RequestPlace | undefined, isFull = true; isFull; ) {
          const page = await state.requestLog.list(ALL, limit, after);
          read.push(...page.map(({ requestId }) => requestId));
          after = page.at(-1);
          isFull = page.length === limit;
        }
        expect(read).to.deep.equal(all);
      }
      const streamed: string[] = [];
      for await (const { requestId } of state.requestLog.all(ALL)) streamed.push(requestId);
      expect(streamed).to.deep.equal(all);
    });

    it('are filtered by end, key, model, route, code, id and time', async () => {
      await fill();
      expect(await names({ outcome: 'failed' })).to.have.members(['req_3', 'req_6']);
      expect(await names({ outcome: 'refused' })).to.deep.equal(['mine/req_9']);
      expect(await names({ outcome: 'succeeded' })).to.have.length(7);
      expect(await names({ keyIds: ['b'], outcome: 'failed' })).to.deep.equal(['req_3']);
      expect(await names({ model: 'm-5.4' })).to.deep.equal(['req_6']);
      expect(await names({ route: '/v1/extract' })).to.deep.equal(['mine/req_9']);
      expect(await names({ errorCode: 'upstream_timeout' })).to.deep.equal(['req_6']);
      expect(await names({ requestId: 'mine' })).to.deep.equal(['mine/req_9']);
      expect(await names({ requestId: 'req_%' })).to.deep.equal([]);
      expect(await names({ from: NOW })).to.deep.equal(['mine/req_9']);
      expect(await names({ keyIds: ['a', 'b', 'c'], accountId: 'two' })).to.deep.equal(['foreign']);
      expect(await names({ keyIds: [] })).to.deep.equal([]);
    });

    it('agree with the totals, also where they failed or were refused', async () => {
      await fill();
      const totals = await state.usage.totals({ accountId: 'one', from: '2026-06-15', to: '2026-06-15' });
      const sum = (count: 'requests' | 'failed' | 'refused') => totals.reduce((all, row) => all + row[count], 0);
      expect([sum('requests'), sum('failed'), sum('refused')]).to.deep.equal([9, 2, 1]);
    });

    it('are deleted by their account, but not the latest, the totals and those of others', async () => {
      await fill();
      expect(await state.requestLog.delete(ALL, NOW)).to.equal(9);
      expect(await names()).to.deep.equal(['mine/req_9']);
      expect(await names({ keyIds: ['c'], accountId: 'two' })).to.deep.equal(['foreign']);
      expect(await state.usage.totals({ accountId: 'one', from: '2026-06-15', to: '2026-06-15' })).to.have.length(4);
      clock.advance(120_000);
      expect(await state.requestLog.delete({ keyIds: ['c'], accountId: 'one' }, NOW + 120_000)).to.equal(0);
      expect(await state.requestLog.delete(ALL, NOW + 120_000)).to.equal(1);
    });

    it('keep an estimate of background work until it is corrected', async () => {
      await makeKey('a', 'one');
      const background = { responseId: 'resp_1', upstream: 'one', budgetId: null };
      state.admissions.settle(settlement({ accountId: 'one', keyId: 'a', at: NOW - DAY_MS, background }));
      await state.admissions.flush();
      expect(await state.requestLog.delete(ALL, NOW)).to.equal(0);
    });

    it('of a key stay within their number, the newest of them', async () => {
      await makeKey('a', 'one');
      for (let index = 0; index < 30; index += 1) {
        state.admissions.settle(
          settlement({ accountId: 'one', keyId: 'a', at: NOW - index, requestId: `req_${index}` }),
        );
      }
      await state.admissions.flush();
      const database = await openDatabase(place);
      const sweeper = new UsageSweeper(database, new DatabaseClock(clock), { rowsPerKey: 10 });
      await sweeper.sweep();
      await database.close();
      expect(await names()).to.deep.equal(Array.from({ length: 10 }, (_, index) => `req_${index}`));
    });
  });

  describe(`rows of refused requests on ${engine.name}`, () => {
    let place: Place;
    before(async function () {
      place = await engine.place(this);
    });
    after(() => place?.remove());

    it('are at most 100 of a key in two seconds, and all are counted', async () => {
      const database = await openDatabase(place);
      const counts = new RequestCounts({ database, logger: new ListLogger() });
      for (let index = 0; index < 500; index += 1) {
        counts.refuse({ ...REFUSED, keyId: 'a', requestId: `a-${index}`, at: NOW });
        if (index < 40) counts.refuse({ ...REFUSED, keyId: 'b', requestId: `b-${index}`, at: NOW });
      }
      await counts.close();
      const inputs = new RequestInputs({ database, times: new DatabaseClock(), logger: new ListLogger() });
      const log = new RequestLog(database, inputs);
      expect(await log.list({ ...ALL, keyIds: ['a'] }, 1_000)).to.have.length(100);
      expect(await log.list({ ...ALL, keyIds: ['b'] }, 1_000)).to.have.length(40);
      const totals = await new UsageLog(database, counts).totals({ from: '2026-06-15', to: '2026-06-15' });
      expect(totals.map(({ keyId, requests, refused }) => [keyId, requests, refused])).to.deep.equal([
        ['a', 0, 500],
        ['b', 0, 40],
      ]);
      await database.close();
    });
  });
}

describe('the index of failed requests', () => {
  const [sqlite] = engines;
  let place: Place;
  before(async function () {
    place = (await sqlite?.place(this)) as Place;
  });
  after(() => place?.remove());

  it('is used on SQLite for failures, and the one of the key for all else', async () => {
    const database = await openDatabase(place);
    const explained: string[] = [];
    const query = async (condition: string) => {
      const text = `explain query plan select * from (select * from usage_entries where "keyId" = 'a' and at >= 1 and at < 9 ${condition} order by at desc, "requestId" desc limit 5) as k order by at desc`;
      const { rows } = await sql.raw<{ detail: string }>(text).execute(database.queries);
      explained.push(rows.map(({ detail }) => detail).join('\n'));
    };
    await query('and (status >= 400 or "errorCode" is not null) and refused = 0');
    await query('');
    expect(explained[0]).to.contain('usage_entries_failed');
    expect(explained[1]).to.contain('sqlite_autoindex_usage_entries').and.not.contain('SCAN usage_entries');
    await database.close();
  });
});
