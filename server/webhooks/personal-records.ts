/*
 * Erases and exports the version of an account's webhook secret. The secret itself is not stored.
 */

import { type PersonalRecords, withTimes } from '../personal-records/index.js';

export const webhookPersonalRecords: PersonalRecords = {
  tables: { webhook_secrets: 'deleted' },

  async erase(transaction, { accountId }) {
    await transaction.deleteFrom('webhook_secrets').where('accountId', '=', accountId).execute();
  },

  exported: (database, { accountId }) => ({
    async webhooks() {
      const secret = await database.run((queries) =>
        queries
          .selectFrom('webhook_secrets')
          .select(['version', 'changedAt'])
          .where('accountId', '=', accountId)
          .executeTakeFirst(),
      );
      return { secret: secret ? withTimes(secret) : { version: 1 } };
    },
  }),
};
