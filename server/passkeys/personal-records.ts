/*
 * Erases and exports passkeys, recovery codes, pending ceremonies and invitations of a person. The export has no key
 * and no hash; browsers and authenticators keep their side until the person removes it there.
 */

import { type PersonalRecords, rowsOf, withTimes } from '../personal-records/index.js';

export const passkeyPersonalRecords: PersonalRecords = {
  tables: {
    invitations: 'deleted',
    passkeys: 'deleted',
    passkey_challenges: 'deleted',
    recovery_codes: 'deleted',
  },

  async erase(transaction, { id }) {
    for (const table of ['invitations', 'passkeys', 'passkey_challenges', 'recovery_codes'] as const)
      await transaction.deleteFrom(table).where('userId', '=', id).execute();
  },

  exported: (database, { id }) => ({
    async *passkeys() {
      const rows = rowsOf(database, (queries) =>
        queries
          .selectFrom('passkeys')
          .select(['name', 'kind', 'host', 'createdAt', 'lastUsedAt'])
          .where('userId', '=', id)
          .orderBy('createdAt')
          .execute(),
      );
      for await (const row of rows) yield withTimes(row);
    },
    async *recoveryCodes() {
      const rows = rowsOf(database, (queries) =>
        queries.selectFrom('recovery_codes').select('createdAt').where('userId', '=', id).execute(),
      );
      for await (const row of rows) yield withTimes(row);
    },
  }),
};
