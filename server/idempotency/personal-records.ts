/*
 * Erases the stored answers of an account with their files, in batches: files first and rows last, so interrupted work
 * is repeated from the rows that are left.
 */

import type { PersonalRecords } from '../personal-records/index.js';
import { answerFileOf } from './answer-table.js';

const ROWS = 50;

export const idempotencyPersonalRecords: PersonalRecords = {
  tables: { idempotency_keys: 'deleted' },

  async eraseWork(database, accountId, { files, signal }) {
    for (let full = true; full; ) {
      signal?.throwIfAborted();
      const rows = await database.run((queries) =>
        queries
          .selectFrom('idempotency_keys')
          .select(['hash', 'answerId'])
          .where('accountId', '=', accountId)
          .limit(ROWS)
          .execute(),
      );
      const names = rows.flatMap(({ answerId }) => (answerId === null ? [] : [answerFileOf({ id: answerId })]));
      await Promise.all(names.map((name) => files.delete(name)));
      const hashes = rows.map(({ hash }) => hash);
      if (hashes.length > 0) {
        await database.run((queries) => queries.deleteFrom('idempotency_keys').where('hash', 'in', hashes).execute());
      }
      full = rows.length === ROWS;
    }
  },
};
