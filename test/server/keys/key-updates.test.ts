/** Updates of keys and their audit log. */

import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { createKeyRecord, type NewKey } from '../../../server/keys/key-rows.js';
import { KeyTable } from '../../../server/keys/key-table.js';
import { createPepper } from '../../../server/keys/keys.js';
import type { State } from '../../../server/state.js';
import { engines, ListLogger, type Place } from '../../support/databases/engines.js';
import { until } from '../../support/until.js';

const DAY_MS = 24 * 3_600_000;
const ACTOR = 'operator:ann';
const PEPPER = createPepper(Buffer.alloc(32, 7));

for (const engine of engines) {
  describe(`updates of keys on ${engine.name}`, () => {
    let place: Place;
    let state: State;

    before(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
    });

    after(() => place?.remove());

    async function make(change: Partial<NewKey> = {}, planExpiresAt: number | null = null) {
      const wanted: NewKey = { name: 'one', grants: ['extract'], rpm: 1, expiresAt: null, ...change };
      const made = createKeyRecord(wanted, PEPPER, await state.keys.now());
      await state.keys.insert(made.record, planExpiresAt);
      return made;
    }

    const refusalOf = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
      );

    it('change the given fields, keep the rest, and write both states into the audit log', async () => {
      const { record } = await make({ expiresAt: Date.UTC(2990, 0, 1) });
      const { id } = record;
      const change = { rpm: null, grants: ['text', 'audio'], models: ['m-5.5', 'модель'] } as const;
      const updated = await state.keys.update({ id, change, actor: ACTOR, note: 'a new team' });
      expect(updated).to.deep.equal({ ...record, ...change });
      expect(await state.keys.find(id)).to.deep.equal(updated);
      const renamed = await state.keys.update({
        id,
        change: { name: 'Ann', models: null, expiresAt: null },
        actor: ACTOR,
      });
      expect(renamed).to.deep.equal({ ...updated, name: 'Ann', models: null, expiresAt: null });

      const [second, first] = await state.audit.list({ subject: id, limit: 9 });
      expect(first).to.include({ number: 1, actor: ACTOR, action: 'key.updated', note: 'a new team' });
      expect(first).to.include({
        from: 'grants extract; rpm 1; models all',
        to: 'grants text,audio; rpm unlimited; models m-5.5,модель',
      });
      expect(second).to.include({
        number: 2,
        from: 'name; models m-5.5,модель; expires 2990-01-01T00:00:00.000Z',
        to: 'name; models all; expires never',
        note: null,
      });
    });

    it('change the priority, which a rotated key has as well', async () => {
      const { record } = await make();
      const { id, accountId } = record;
      expect(record).not.to.have.property('priority');
      await state.keys.update({ id, change: { priority: 'high' }, actor: ACTOR });
      expect(await state.keys.find(id)).to.include({ priority: 'high' });
      const [row] = await state.audit.list({ subject: id, limit: 9 });
      expect(row).to.include({ from: 'priority normal', to: 'priority high' });
      const successor = { id: `${id.slice(0, 7)}_`, hash: record.hash, pepperVersion: 1 };
      expect(await state.keys.rotate({ accountId, id, successor, overlapMs: 0 })).to.include({ priority: 'high' });
    });

    it('reach a node that has used the key before within 2 seconds', async () => {
      const { key, record } = await make({ rpm: 1 });
      const table = await KeyTable.open({
        keys: state.keys,
        peppers: [PEPPER],
        clock: systemClock,
        logger: new ListLogger(),
      });
      try {
        expect((await table.verify(key)).rpm).to.equal(1);
        await state.keys.update({ id: record.id, change: { rpm: 300, grants: ['text'] }, actor: ACTOR });
        const changedAt = Date.now();
        await until(async () => (await table.verify(key)).rpm === 300);
        expect(Date.now() - changedAt).to.be.below(2_500);
        expect((await table.verify(key)).grants).to.deep.equal(['text']);
      } finally {
        await table.close();
      }
    });

    it('give an expired key a new end, and none beyond that of its plan', async () => {
      const now = await state.keys.now();
      const plan = { planId: 'month', budgetId: null, models: null, imageDailyLimit: null };
      const { record } = await make({ plan, expiresAt: now - 1 }, now + DAY_MS);
      const { id } = record;
      const update = (expiresAt: number | null) => state.keys.update({ id, change: { expiresAt }, actor: ACTOR });
      expect(await update(now + 1_000)).to.include({ expiresAt: now + 1_000 });
      expect(await update(null)).to.include({ expiresAt: now + DAY_MS });
      expect(await refusalOf(update(now + DAY_MS + 1))).to.equal(
        `invalid_value: expires_at must not be later than the end of the plan month, ${new Date(now + DAY_MS).toISOString()}.`,
      );
      expect((await state.keys.find(id))?.expiresAt).to.equal(now + DAY_MS);
      expect(await state.audit.list({ subject: id, limit: 9 })).to.have.length(2);
    });

    it('refuse a key that is revoked or unknown', async () => {
      const { record } = await make();
      const { id } = record;
      await state.keys.revoke(id, 123);
      const update = (named: string) => state.keys.update({ id: named, change: { rpm: 5 }, actor: ACTOR });
      expect(await refusalOf(update(id))).to.equal(`invalid_value: Key ${id} is revoked and cannot be changed.`);
      expect((await state.keys.find(id))?.rpm).to.equal(1);
      for (const named of ['nobody00', 'nob\u0000dy'])
        expect(await refusalOf(update(named))).to.match(/^key_not_found/);
      expect(await state.audit.list({ subject: id, limit: 9 })).to.deep.equal([]);
    });

    it('number their audit rows when many come at once', async () => {
      const { record } = await make();
      const { id } = record;
      const rpms = Array.from({ length: 8 }, (_, index) => index + 10);
      await Promise.all(rpms.map((rpm) => state.keys.update({ id, change: { rpm }, actor: ACTOR })));
      const audit = await state.audit.list({ subject: id, limit: 20 });
      expect(audit.map(({ number }) => number)).to.deep.equal([8, 7, 6, 5, 4, 3, 2, 1]);
      for (const [index, { from }] of audit.slice(0, -1).entries()) expect(from).to.equal(audit[index + 1]?.to);
      expect(`rpm ${(await state.keys.find(id))?.rpm}`).to.equal(audit[0]?.to);
    });
  });
}
