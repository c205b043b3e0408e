import type { Database, Kysely } from '../../database/index.js';
import { isKept } from '../../database/index.js';
import type { JobClock } from '../../jobs/index.js';
import { keyAt } from '../accounts/index.js';
import type { Tables } from '../schema.js';
import { createKeyIssue } from './api-key-issue.js';
import { type ApiKeyRow, keysOf, toKeyRecord, toKeyRow } from './api-key-rows.js';
import { createUseStatement } from './api-key-uses.js';
import type { ApiKeyRecord, ApiKeys } from './api-keys.js';

const PAGE = 5_000;

/** API keys in SQL. */
export function createApiKeys(database: Database, times: JobClock): ApiKeys {
  const writeUses = createUseStatement(database);

  /** With the plan that its account has now. The time is read only for a key whose plan another one follows. */
  async function currentRecord(queries: Kysely<Tables>, row: ApiKeyRow): Promise<ApiKeyRecord> {
    const record = toKeyRecord(row);
    return row.following_plans === null ? record : keyAt(record, await times.read(queries));
  }

  return {
    async insert(record) {
      const row = { ...toKeyRow(record), changed_at: times.now };
      await database.run((queries) => queries.insertInto('api_keys').values(row).execute());
    },
    async list() {
      const records: ApiKeyRecord[] = [];
      // In pages, each of which is read in time, and between which this process does something else.
      for (let full = true; full; ) {
        const after = records.at(-1)?.id ?? '';
        const rows = await database.run((queries) =>
          queries.selectFrom('api_keys').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute(),
        );
        for (const row of rows) records.push(toKeyRecord(row));
        full = rows.length === PAGE;
      }
      const at = await database.run((queries) => times.read(queries));
      return records
        .map((record) => keyAt(record, at))
        .sort((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1));
    },
    async find(id) {
      if (!isKept(id)) return undefined;
      return database.run(async (queries) => {
        const row = await queries.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
        return row && currentRecord(queries, row);
      });
    },
    async changedSince(since) {
      const rows = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().where('changed_at', '>=', since).orderBy('changed_at').execute(),
      );
      return rows.map(toKeyRecord);
    },
    async listOf(accountId) {
      return database.run(async (queries) => {
        const rows = await keysOf(queries, accountId);
        return Promise.all(rows.map((row) => currentRecord(queries, row)));
      });
    },
    now: () => database.run((queries) => times.read(queries)),
    ...createKeyIssue(database, times),
    async revoke(id, at, accountId) {
      if (!isKept(id)) return false;
      const change = { revoked_at: at, changed_at: times.now };
      const { numUpdatedRows } = await database.run((queries) => {
        const keys = queries.updateTable('api_keys').set(change).where('id', '=', id).where('revoked_at', 'is', null);
        const owned = accountId === undefined ? keys : keys.where('account_id', '=', accountId);
        return owned.executeTakeFirstOrThrow();
      });
      return numUpdatedRows > 0n;
    },
    async touch(uses) {
      if (uses.size === 0) return;
      // Nodes lock the rows in one order, so that two that write at once do not wait for each other in a ring.
      const ordered = [...uses].sort(([left], [right]) => (left < right ? -1 : 1));
      await database.transaction(async (transaction) => {
        await writeUses(transaction, ordered);
      });
    },
  };
}
