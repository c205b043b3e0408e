import type { Selectable } from 'kysely';
import type { Clock } from '../contracts/services.js';
import type { ApiKeyRecord, ApiKeys, Grant } from './api-keys.js';
import type { Database } from './database.js';
import type { ApiKeysTable } from './schema.js';

/** API keys in SQL. */
export function createApiKeys(database: Database, clock: Clock): ApiKeys {
  return {
    async insert(record) {
      const row = { ...toRow(record), changed_at: clock.now() };
      await database.run((queries) => queries.insertInto('api_keys').values(row).execute());
    },
    async list() {
      const rows = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id').execute(),
      );
      return rows.map(toRecord);
    },
    async find(id) {
      const row = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row && toRecord(row);
    },
    async changedSince(since) {
      const rows = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().where('changed_at', '>=', since).orderBy('changed_at').execute(),
      );
      return rows.map(toRecord);
    },
    async revoke(id, at) {
      const change = { revoked_at: at, changed_at: clock.now() };
      const { numUpdatedRows } = await database.run((queries) =>
        queries
          .updateTable('api_keys')
          .set(change)
          .where('id', '=', id)
          .where('revoked_at', 'is', null)
          .executeTakeFirstOrThrow(),
      );
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

function toRow(record: ApiKeyRecord): Omit<ApiKeysTable, 'changed_at'> {
  return {
    id: record.id,
    name: record.name,
    hash: record.hash,
    pepper_version: record.pepperVersion,
    grants: JSON.stringify(record.grants),
    rpm: record.rpm,
    account_id: record.accountId,
    created_at: record.createdAt,
    expires_at: record.expiresAt,
    revoked_at: record.revokedAt,
    last_used_at: record.lastUsedAt,
    plan_id: record.planId,
    budget_id: record.budgetId,
    models: record.models && JSON.stringify(record.models),
  };
}

function toRecord(row: Selectable<ApiKeysTable>): ApiKeyRecord {
  return {
    id: row.id,
    name: row.name,
    hash: row.hash,
    pepperVersion: row.pepper_version,
    grants: JSON.parse(row.grants) as Grant[],
    rpm: row.rpm,
    accountId: row.account_id,
    planId: row.plan_id,
    budgetId: row.budget_id,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}
