/*
 * Erases and exports the connections of a person to agents, and the last sign-ins at applications. The export has no token and no hash; registrations of
 * programs name no person, and end by themselves.
 */

import { type PersonalRecords, rowsOf, withTimes } from '../personal-records/index.js';

export const identityPersonalRecords: PersonalRecords = {
  tables: {
    oauth_requests: 'deleted',
    oauth_tokens: 'deleted',
    oauth_connections: 'deleted',
    application_sign_ins: 'deleted',
  },

  async erase(transaction, { id }) {
    for (const table of ['oauth_requests', 'oauth_tokens', 'oauth_connections', 'application_sign_ins'] as const)
      await transaction.deleteFrom(table).where('userId', '=', id).execute();
  },

  exported: (database, { id }) => ({
    async *connections() {
      const rows = rowsOf(database, (queries) =>
        queries
          .selectFrom('oauth_connections')
          .select(['id', 'keyId', 'clientId', 'clientName', 'clientHost', 'redirectHost', 'createdAt', 'expiresAt'])
          .where('userId', '=', id)
          .orderBy('createdAt')
          .execute(),
      );
      for await (const row of rows) yield withTimes(row);
    },
    async *application_sign_ins() {
      const rows = rowsOf(database, (queries) =>
        queries
          .selectFrom('application_sign_ins')
          .select(['application', 'signedInAt'])
          .where('userId', '=', id)
          .orderBy('application')
          .execute(),
      );
      for await (const row of rows) yield withTimes(row);
    },
  }),
};
