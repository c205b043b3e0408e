/** API keys in the database: records, revocation and last uses. */

import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { type ApiKeyRecord, createKeyRecord } from '../../../server/keys/key-rows.js';
import { KeyTable } from '../../../server/keys/key-table.js';
import { createPepper } from '../../../server/keys/keys.js';
import type { State } from '../../../server/state.js';
import { engines, ListLogger, ManualClock, type Place } from '../../support/databases/engines.js';

for (const engine of engines) {
  describe(`API keys on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let count = 0;

    before(async function () {
      place = await engine.place(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    after(() => place?.remove());

    async function insert(change: Partial<ApiKeyRecord> = {}, into = state): Promise<ApiKeyRecord> {
      count += 1;
      const record: ApiKeyRecord = {
        id: `key${count}`,
        name: 'Robert\'); drop table "api_keys"; -- ключ',
        hash: 'ab'.repeat(32),
        pepperVersion: 1,
        grants: ['images', 'extract'],
        rpm: 15,
        accountId: 'local',
        planId: null,
        budgetId: null,
        models: null,
        createdAt: clock.now(),
        expiresAt: null,
        revokedAt: null,
        suspendedAt: null,
        replacedBy: null,
        imageDailyLimit: null,
        lastUsedAt: null,
        ...change,
      };
      await into.keys.insert(record);
      return record;
    }

    it('returns a record unchanged', async () => {
      const limited = await insert({ expiresAt: clock.now() + 86_400_000 });
      const unlimited = await insert({ rpm: null, grants: [] });
      const refusing = await insert({ rpm: 0, lastUsedAt: 1 });
      const planned = await insert({ planId: 'free', budgetId: 'budget-1', models: ['m-5.5', 'модель'] });
      const barred = await insert({ models: [] });
      for (const record of [limited, unlimited, refusing, planned, barred]) {
        expect(await state.keys.find(record.id)).to.deep.equal(record);
        expect(await state.keys.list()).to.deep.include(record);
      }
      for (const id of ['nobody', 'nob\u0000dy']) expect(await state.keys.find(id)).to.equal(undefined);
    });

    it('lists in the order of creation and refuses an existing id', async () => {
      const late = await insert({ createdAt: clock.now() + 5 });
      const early = await insert({ createdAt: 5 });
      const ids = (await state.keys.list()).map(({ id }) => id);
      expect(ids[0]).to.equal(early.id);
      expect(ids.at(-1)).to.equal(late.id);
      const refusal = await insert({ id: late.id }).catch((error: unknown) => error);
      expect(refusal).to.be.an('error');
      expect((await state.keys.find(late.id))?.createdAt).to.equal(late.createdAt);
    });

    it('revokes once, and returns what changed since', async () => {
      const record = await insert();
      clock.advance(1_000);
      const since = clock.now();
      expect((await state.keys.changedSince(since)).map(({ id }) => id)).to.deep.equal([]);
      expect(await state.keys.revoke(record.id, 123)).to.equal(true);
      expect(await state.keys.revoke(record.id, 456)).to.equal(false);
      expect(await state.keys.revoke('nobody', 456)).to.equal(false);
      expect(await state.keys.changedSince(since)).to.deep.equal([{ ...record, revokedAt: 123 }]);
      expect(await state.keys.changedSince(since + 1)).to.deep.equal([]);
    });

    it('stores last uses, several at once, never back in time, and not as a change', async () => {
      const [first, second] = [await insert(), await insert({ lastUsedAt: 900 })];
      clock.advance(1_000);
      await state.keys.touch(
        new Map([
          [first.id, 500],
          [second.id, 800],
          ['nobody', 1],
        ]),
      );
      await state.keys.touch(new Map());
      expect((await state.keys.find(first.id))?.lastUsedAt).to.equal(500);
      expect((await state.keys.find(second.id))?.lastUsedAt).to.equal(900);
      expect(await state.keys.changedSince(clock.now())).to.deep.equal([]);
    });

    it("records changes by the clock of the database, not the node's", async function () {
      // The clock of the database is far ahead of the one that the other tests move.
      const own = await engine.place(this);
      const others = await own.open({
        clock: new ManualClock(0),
        rateLimitClock: engine.name === 'sqlite' ? clock : undefined,
      });
      const node = await own.open({ rateLimitClock: engine.name === 'sqlite' ? clock : undefined });
      const record = await insert({}, node);
      const since = await node.keys.now();
      await others.keys.revoke(record.id, 123);
      expect((await node.keys.changedSince(since)).map(({ id }) => id)).to.deep.equal([record.id]);
      await own.remove();
    });

    if (engine.name === 'postgres') {
      it('ends a key in time on a node with a clock that is 13 h wrong', async function () {
        const own = await engine.place(this);
        const pepper = createPepper(Buffer.alloc(32, 7));
        for (const wrongMs of [-13 * 3_600_000, 13 * 3_600_000]) {
          const clock = { ...systemClock, now: () => Date.now() + wrongMs };
          const node = await own.open({ clock });
          const expiresAt = (await node.keys.now()) + 1_500;
          const { key, record } = createKeyRecord({ name: 'short', grants: ['text'], rpm: 1, expiresAt }, pepper, 0);
          await node.keys.insert(record);
          const table = await KeyTable.open({ keys: node.keys, peppers: [pepper], clock, logger: new ListLogger() });
          const codeOf = async () => {
            try {
              await table.verify(key);
              return 'ok';
            } catch (error) {
              return (error as { code: string }).code;
            }
          };
          expect(await codeOf()).to.equal('ok');
          await systemClock.sleep(expiresAt - (await node.keys.now()) + 100);
          expect(await codeOf()).to.equal('expired_api_key');
          await table.close();
        }
        await own.remove();
      });
    }
  });
}
