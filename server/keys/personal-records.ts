/*
 * Erases and exports the API keys of a person: the keys are revoked and lose their names, and their rows stay for the
 * usage that refers to them. An export has keys without their hashes.
 */

import { sql } from '../../core/database/index.js';
import { clearNotes } from '../audit/index.js';
import { type PersonalRecords, rowsOf } from '../personal-records/index.js';
import { encodeKey, keysOf, lockKeys, toKeyRecord } from './key-rows.js';

const ERASED_NAME = 'erased';

export const keyPersonalRecords: PersonalRecords = {
  tables: { api_keys: 'cleared' },

  async erase(transaction, { engine, accountId, at, changedAt }) {
    const ids = await lockKeys(transaction, engine, accountId);
    if (ids.length === 0) return;
    const revokedAt = sql<number>`coalesce("revokedAt", cast(${at} as bigint))`;
    await transaction
      .updateTable('api_keys')
      .set({ name: ERASED_NAME, suspendedAt: at, changedAt, revokedAt })
      .where('id', 'in', ids)
      .execute();
    await clearNotes(transaction, ids);
  },

  exported: (database, { accountId }, at) => ({
    async *keys() {
      for await (const row of rowsOf(database, (queries) => keysOf(queries, accountId))) {
        yield encodeKey(toKeyRecord(row), at);
      }
    },
  }),
};
