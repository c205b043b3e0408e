/** The form of keys, and the replicated key table. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { GatewayError, type Logger, systemClock } from 'mediagate';
import { createManualClock } from 'mediagate/testing';
import { type ApiKeyRecord, createKeyRecord } from '../../../server/keys/key-rows.js';
import { KeyTable, type KeyTableOptions } from '../../../server/keys/key-table.js';
import { createKey, createPepper, hashKey, keyIdOf } from '../../../server/keys/keys.js';
import { linkSiblings } from '../../support/processes/linked-siblings.js';
import { LINK, startApp } from '../http/listening-app.js';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const wanted = { name: 'test', grants: ['extract'], rpm: 30, expiresAt: null } as const;

async function codeOf(work: () => unknown): Promise<unknown> {
  return Promise.resolve()
    .then(work)
    .then(
      () => 'ok',
      (error) => error.code,
    );
}

/** Keys in a map, which can be away like a database. */
function keysIn(records: Map<string, ApiKeyRecord>, now: () => number = Date.now) {
  const use = { away: false, finds: 0, touched: new Map<string, number>(), ended: [] as string[] };
  const answer = async <Value>(value: Value): Promise<Value> => {
    if (use.away) throw new GatewayError('upstream_unavailable', 'The database does not answer.');
    return value;
  };
  const keys: KeyTableOptions['keys'] = {
    list: () => answer([...records.values()]),
    find: (id) => {
      use.finds += 1;
      return answer(records.get(id));
    },
    changedSince: () => answer([...records.values()]),
    now: () => answer(now()),
    endJobs: (key) => {
      use.ended.push(key.id);
      return answer(undefined);
    },
    touch: async (uses) => {
      for (const [id, at] of uses) use.touched.set(id, at);
    },
  };
  return { keys, use };
}

describe('the form of keys', () => {
  it('has a prefix, a public id, 190 random bits, and a checksum over all of it', () => {
    const { id, key } = createKey();
    expect(key).to.match(/^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}$/);
    expect(keyIdOf(key)).to.equal(id);
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const check = [...key.slice(-6)].reduce((value, digit) => value * 62 + alphabet.indexOf(digit), 0);
    expect(check).to.equal(crc32(key.slice(0, -6)));
    expect(new Set(Array.from({ length: 200 }, () => createKey().key)).size).to.equal(200);
  });

  it('detects a single mistyped character anywhere', () => {
    const { key } = createKey();
    for (let index = 0; index < key.length; index += 1) {
      const typo = key.slice(0, index) + (key[index] === 'z' ? 'y' : 'z') + key.slice(index + 1);
      expect(keyIdOf(typo), `at ${index}`).to.equal(undefined);
    }
    for (const other of ['', key.slice(1), `${key}a`, `${key}\n`, key.toUpperCase()])
      expect(keyIdOf(other)).to.equal(undefined);
  });

  it('is stored as a keyed hash that needs the pepper', () => {
    const [one, other] = [createPepper(Buffer.alloc(32, 1)), createPepper(Buffer.alloc(32, 2))];
    const { key, record } = createKeyRecord(wanted, one, 0);
    expect(record.hash).to.equal(hashKey(key, one)).and.not.equal(hashKey(key, other));
    expect(record.pepperVersion).to.equal(one.version).and.not.equal(other.version);
    expect(one.version).to.be.within(0, 2 ** 31 - 1);
    expect(JSON.stringify(record)).not.to.contain(key.slice(15, 40));
  });

  it('is in no file of the data folder', async () => {
    const app = await startApp();
    try {
      const key = await app.makeKey();
      await app.extract(key, { url: LINK });
      const secret = key.slice(15);
      for (const entry of await readdir(app.dataDir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const bytes = await readFile(path.join(entry.parentPath, entry.name));
        expect(bytes.includes(secret), entry.name).to.equal(false);
      }
    } finally {
      await app.close();
    }
  });
});

describe('the table of keys', () => {
  const pepper = createPepper(Buffer.alloc(32, 7));
  const make = (records: Map<string, ApiKeyRecord>) => {
    const { key, record } = createKeyRecord(wanted, pepper, 0);
    records.set(record.id, record);
    return { key, record };
  };
  const open = (keys: KeyTableOptions['keys']) =>
    KeyTable.open({ keys, peppers: [pepper], clock: systemClock, logger: silent });

  it('checks known keys while the database is unavailable, and calls no other key invalid', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key } = make(records);
    const { keys, use } = keysIn(records);
    const table = await open(keys);
    use.away = true;
    expect(await codeOf(() => table.verify(key))).to.equal('ok');
    expect(await codeOf(() => table.verify(createKey().key))).to.equal('upstream_unavailable');
    expect(await codeOf(() => table.verify(`${key.slice(0, -1)}_`))).to.equal('invalid_api_key');
    await table.close();
  });

  it('refuses keys of a suspended account, and accepts them afterwards', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const { keys } = keysIn(records);
    const verifyAnew = async () => {
      const table = await open(keys);
      const code = await codeOf(() => table.verify(key));
      await table.close();
      return code;
    };
    records.set(record.id, { ...record, suspendedAt: 1 });
    expect(await verifyAnew()).to.equal('account_suspended');
    records.set(record.id, record);
    expect(await verifyAnew()).to.equal('ok');
  });

  it('refuses a key from the exact instant of its expiry', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const clock = createManualClock(10_000);
    const { keys } = keysIn(records, () => clock.now());
    records.set(record.id, { ...record, expiresAt: 15_000 });
    const table = await KeyTable.open({ keys, peppers: [pepper], clock, logger: silent });
    const codes: unknown[] = [];
    for (const ms of [0, 4_999, 1, 1]) {
      await clock.advance(ms);
      codes.push(await codeOf(() => table.verify(key)));
    }
    await table.close();
    expect(codes).to.deep.equal(['ok', 'ok', 'expired_api_key', 'expired_api_key']);
  });

  it('restores the plan below at the end of another one, without the database', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const clock = createManualClock(10_000);
    const { keys, use } = keysIn(records, () => clock.now());
    const later = {
      planId: 'later',
      grants: ['images'],
      rpm: 1,
      models: null,
      imageDailyLimit: 5,
      budgetId: null,
    } as const;
    records.set(record.id, {
      ...record,
      planId: 'first',
      expiresAt: 15_000,
      followingPlans: [
        { ...later, expiresAt: 18_000 },
        { ...later, planId: 'last', expiresAt: 20_000 },
      ],
    });
    const table = await KeyTable.open({ keys, peppers: [pepper], clock, logger: silent });
    use.away = true;
    const planIds: unknown[] = [];
    for (const ms of [4_999, 1, 2_999, 1]) {
      await clock.advance(ms);
      planIds.push((await table.verify(key)).planId);
    }
    expect(planIds).to.deep.equal(['first', 'later', 'later', 'last']);
    expect(await table.verify(key)).to.deep.include({ grants: ['images'], rpm: 1, imageDailyLimit: 5 });
    await clock.advance(2_000);
    expect(await codeOf(() => table.verify(key))).to.equal('expired_api_key');
    await table.close();
  });

  it('ends keys by the clock of the database, on a node with a clock that is 13 h wrong', async () => {
    for (const wrongMs of [-13 * 3_600_000, 13 * 3_600_000]) {
      const records = new Map<string, ApiKeyRecord>();
      const { key, record } = make(records);
      const time = createManualClock(100_000_000);
      const clock = { ...systemClock, now: () => time.now() + wrongMs, monotonic: () => time.monotonic() };
      const { keys, use } = keysIn(records, () => time.now());
      records.set(record.id, { ...record, expiresAt: 100_005_000 });
      const table = await KeyTable.open({ keys, peppers: [pepper], clock, logger: silent });
      const codes: unknown[] = [];
      for (const ms of [0, 4_999, 1]) {
        await time.advance(ms);
        codes.push(await codeOf(() => table.verify(key)));
      }
      await table.close();
      expect(codes).to.deep.equal(['ok', 'ok', 'expired_api_key']);
      expect(use.touched.get(record.id)).to.equal(100_004_999);
    }
  });

  it('is refreshed in all workers of a machine when one of them changes a key', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const { keys } = keysIn(records);
    const tables = await Promise.all(
      linkSiblings(3).map((siblings) =>
        KeyTable.open({ keys, peppers: [pepper], clock: systemClock, logger: silent, siblings }),
      ),
    );
    records.set(record.id, { ...record, revokedAt: 1 });
    await tables[0]?.refresh();
    await sleep(20);
    for (const table of tables) {
      expect(await codeOf(() => table.verify(key))).to.equal('revoked_api_key');
      await table.close();
    }
  });

  it('keeps a revocation when an older read arrives later', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const { keys } = keysIn(records);
    const late = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    let asked = 0;
    const table = await open({
      ...keys,
      async changedSince() {
        asked += 1;
        const changed = [...records.values()];
        if (asked > 1) return changed;
        read.resolve();
        await late.promise;
        return changed;
      },
    });
    const earlier = table.refresh();
    await read.promise;
    records.set(record.id, { ...record, revokedAt: 1 });
    const later = table.refresh();
    // As long as the one before is under way, it may or may not be done.
    await Promise.race([later, sleep(50)]);
    late.resolve();
    await Promise.all([earlier, later]);
    expect(await codeOf(() => table.verify(key))).to.equal('revoked_api_key');
    await table.close();
  });

  it('looks up a new id once, and at most 50 unknown ids a second', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { keys, use } = keysIn(records);
    const table = await open(keys);
    const { key } = make(records);
    expect(await Promise.all([table.verify(key), table.verify(key)])).to.have.length(2);
    expect(use.finds).to.equal(1);
    const unknown = Array.from({ length: 400 }, () => createKey().key);
    const codes = await Promise.all(unknown.map((one) => codeOf(() => table.verify(one))));
    expect(new Set(codes)).to.deep.equal(new Set(['invalid_api_key']));
    // The four hundred may fall into two seconds.
    expect(use.finds).to.be.at.most(101);
    await table.close();
  });

  it('looks up an unknown id every 2 s at most, and 50 of them a second', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { keys, use } = keysIn(records);
    const clock = createManualClock(10_000);
    const table = await KeyTable.open({ keys, peppers: [pepper], clock, logger: silent });
    const { key, record } = make(records);
    records.delete(record.id);
    const finds: number[] = [];
    for (const ms of [0, 0, 1_999, 1]) {
      await clock.advance(ms);
      expect(await codeOf(() => table.verify(key))).to.equal('invalid_api_key');
      finds.push(use.finds);
    }
    expect(finds).to.deep.equal([1, 1, 1, 2]);
    // Made elsewhere in the meantime.
    records.set(record.id, record);
    await clock.advance(2_000);
    expect(await codeOf(() => table.verify(key))).to.equal('ok');
    for (const expected of [50, 50]) {
      await clock.advance(1_000);
      const before = use.finds;
      const unknown = Array.from({ length: 60 }, () => createKey().key);
      await Promise.all(unknown.map((one) => codeOf(() => table.verify(one))));
      expect(use.finds - before).to.equal(expected);
    }
    await table.close();
  });

  it('refuses a key that was revoked after it was shown, and reports the age of its data', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const { keys, use } = keysIn(records);
    const clock = createManualClock(10_000);
    const table = await KeyTable.open({ keys, peppers: [pepper], clock, logger: silent });
    expect(await codeOf(() => table.verify(key))).to.equal('ok');
    await clock.advance(700);
    expect(table.ageMs()).to.equal(700);
    records.set(record.id, { ...record, revokedAt: 1 });
    use.away = true;
    await table.refresh();
    expect(table.ageMs()).to.equal(700);
    expect(await codeOf(() => table.verify(key))).to.equal('ok');
    use.away = false;
    await table.refresh();
    expect(table.ageMs()).to.equal(0);
    expect(await codeOf(() => table.verify(key))).to.equal('revoked_api_key');
    await table.close();
  });

  it('accepts keys of an older pepper while it is listed', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key } = make(records);
    const { keys } = keysIn(records);
    const newer = createPepper(Buffer.alloc(32, 8));
    const rotating = await KeyTable.open({ keys, peppers: [newer, pepper], clock: systemClock, logger: silent });
    const rotated = await KeyTable.open({ keys, peppers: [newer], clock: systemClock, logger: silent });
    expect(await codeOf(() => rotating.verify(key))).to.equal('ok');
    expect(await codeOf(() => rotated.verify(key))).to.equal('invalid_api_key');
    await Promise.all([rotating.close(), rotated.close()]);
  });

  it('refuses a valid id with another secret', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { record } = make(records);
    const other = createKey().key;
    const forged = `sk-mg-${record.id}-${other.slice(15, -6)}`;
    const { keys } = keysIn(records);
    const table = await open(keys);
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    let value = crc32(forged);
    let check = '';
    for (let digit = 0; digit < 6; digit += 1) {
      check = alphabet.charAt(value % 62) + check;
      value = Math.floor(value / 62);
    }
    expect(keyIdOf(forged + check)).to.equal(record.id);
    expect(await codeOf(() => table.verify(forged + check))).to.equal('invalid_api_key');
    await table.close();
  });

  it('stores when keys were last used, at the latest when it closes', async () => {
    const records = new Map<string, ApiKeyRecord>();
    const { key, record } = make(records);
    const { keys, use } = keysIn(records);
    const table = await open(keys);
    // Requests of one turn of the event loop share a reading of the clock.
    const before = Date.now() - 1_000;
    await table.verify(key);
    await table.close();
    expect(use.touched.get(record.id)).to.be.within(before, Date.now());
  });
});
