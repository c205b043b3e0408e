/** The key table with many keys. */

import { expect } from 'chai';
import { type Database, openDatabase } from '../../../core/database/database.js';
import { DatabaseClock } from '../../../core/database/statements.js';
import { systemClock } from '../../../core/runtime/time.js';
import type { ApiKeysTable } from '../../../server/keys/tables.js';
import type { UsageEntriesTable } from '../../../server/usage/tables.js';
import { NO_COUNTS } from '../../../server/usage/usage-log.js';
import { retentionMs, UsageSweeper } from '../../../server/usage/usage-sweep.js';
import { engines, type Place } from '../../support/databases/engines.js';

/** More than a page of keys. */
const MANY = 5_100;
/** More than the keys of two rounds, fewer than those of three. */
const SWEPT = 1_100;
/** Rows of one statement. */
const PIECE = 500;

for (const engine of engines) {
  describe(`many keys on ${engine.name}`, () => {
    let place: Place;
    let database: Database;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      // The schema.
      await place.open();
      database = await openDatabase(place);
    });

    afterEach(async () => {
      await database?.close();
      await place?.remove();
    });

    async function insertKeys(count: number): Promise<void> {
      const rows = Array.from({ length: count }, (_, index) => keyRow(index));
      await inPieces(rows, (piece) =>
        database.run((queries) => queries.insertInto('api_keys').values(piece).execute()),
      );
    }

    it('lists all of them, oldest first', async () => {
      await insertKeys(MANY);
      const { keys } = await place.open();
      const listed = await keys.list();
      expect(listed.map(({ createdAt }) => createdAt)).to.deep.equal(Array.from({ length: MANY }, (_, index) => index));
    });

    it('stores the latest use of each, several at once', async () => {
      await insertKeys(SWEPT);
      const { keys } = await place.open();
      const ids = Array.from({ length: 700 }, (_, index) => idOf(index));
      await keys.touch(new Map(ids.map((id, index) => [id, 1_000 + index])));
      await keys.touch(new Map(ids.map((id) => [id, 1_500])));
      const used = (await keys.list()).filter(({ lastUsedAt }) => lastUsedAt !== null);
      const expected = ids.map((id, index) => [id, Math.max(1_500, 1_000 + index)] as const);
      expect(new Map(used.map(({ id, lastUsedAt }) => [id, lastUsedAt]))).to.deep.equal(new Map(expected));
    });

    it('deletes their old usage, that of some keys in each round', async () => {
      await insertKeys(SWEPT);
      const now = Date.now();
      const entries = Array.from({ length: SWEPT }, (_, index) => [
        entryRow(index, now - retentionMs() - 60_000),
        entryRow(index, now),
      ]).flat();
      await inPieces(entries, (piece) =>
        database.run((queries) => queries.insertInto('usage_entries').values(piece).execute()),
      );
      const clock = new DatabaseClock(database.engine === 'sqlite' ? systemClock : undefined);
      const sweeper = new UsageSweeper(database, clock);
      const old = async () => {
        const rows = await database.run((queries) =>
          queries.selectFrom('usage_entries').select('keyId').where('at', '<', now).execute(),
        );
        return rows.length;
      };
      const left: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        await sweeper.sweep();
        left.push(await old());
      }
      expect(left).to.deep.equal([600, 100, 0]);
      const { length } = await database.run((queries) => queries.selectFrom('usage_entries').select('at').execute());
      expect(length).to.equal(SWEPT);
      // And then rests.
      await database.run((queries) => queries.insertInto('usage_entries').values(entryRow(7, 1_000)).execute());
      await sweeper.sweep();
      expect(await old()).to.equal(1);
    });
  });
}

async function inPieces<Row>(rows: readonly Row[], insert: (piece: readonly Row[]) => Promise<unknown>): Promise<void> {
  for (let begun = 0; begun < rows.length; begun += PIECE) await insert(rows.slice(begun, begun + PIECE));
}

/** In another order than they were made. */
function idOf(index: number): string {
  return `key${String((index * 37) % 10_007).padStart(5, '0')}`;
}

function keyRow(index: number): ApiKeysTable {
  return {
    id: idOf(index),
    name: 'one of many',
    hash: '0'.repeat(64),
    pepperVersion: 1,
    grants: '["images"]',
    rpm: null,
    accountId: 'local',
    createdAt: index,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    changedAt: 0,
    planId: null,
    budgetId: null,
    models: null,
    imageDailyLimit: null,
    planExpiresAt: null,
    balance: null,
    followingPlans: null,
    ownLimits: null,
    furtherBudgets: null,
    groupName: null,
    priority: null,
    suspendedAt: null,
    replacedBy: null,
    keepsJobs: null,
    internal: null,
  };
}

function entryRow(index: number, at: number): UsageEntriesTable {
  return {
    keyId: idOf(index),
    at,
    requestId: `req_${index}`,
    accountId: 'local',
    route: '/v1/chat/completions',
    model: 'm-5.5',
    status: 200,
    latencyMs: 1,
    ...NO_COUNTS,
    estimated: 0,
    cost: null,
    errorCode: null,
    refused: 0,
  };
}
