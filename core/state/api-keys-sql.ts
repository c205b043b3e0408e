import type { Clock } from '../contracts/services.js';
import { createKeyIssue } from './api-key-issue.js';
import { toKeyRecord, toKeyRow } from './api-key-rows.js';
import type { ApiKeys } from './api-keys.js';
import type { Database } from './database.js';
import { isKept } from './storable-text.js';

/** API keys in SQL. */
export function createApiKeys(database: Database, clock: Clock): ApiKeys {
  return {
    async insert(record) {
      const row = { ...toKeyRow(record), changed_at: clock.now() };
      await database.run((queries) => queries.insertInto('api_keys').values(row).execute());
    },
    async list() {
      const rows = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id').execute(),
      );
      return rows.map(toKeyRecord);
    },
    async find(id) {
      const row = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row && toKeyRecord(row);
    },
    async changedSince(since) {
      const rows = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().where('changed_at', '>=', since).orderBy('changed_at').execute(),
      );
      return rows.map(toKeyRecord);
    },
    async listOf(accountId) {
      const rows = await database.run((queries) =>
        queries
          .selectFrom('api_keys')
          .selectAll()
          .where('account_id', '=', accountId)
          .orderBy('created_at')
          .orderBy('id')
          .execute(),
      );
      return rows.map(toKeyRecord);
    },
    ...createKeyIssue(database, clock),
    async revoke(id, at, accountId) {
      if (!isKept(id)) return false;
      const change = { revoked_at: at, changed_at: clock.now() };
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
        for (const [id, at] of ordered) {
          await transaction
            .updateTable('api_keys')
            .set({ last_used_at: at })
            .where('id', '=', id)
            .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
            .execute();
        }
      });
    },
  };
}
