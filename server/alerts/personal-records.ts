/*
 * Erases the alerts about budgets of a person, which name a key or the account. Alerts are for operators, so an export has
 * none of them.
 */

import { sql } from '../../core/database/index.js';
import { keysOf } from '../keys/index.js';
import type { PersonalRecords } from '../personal-records/index.js';

export const alertPersonalRecords: PersonalRecords = {
  tables: { alerts: 'deleted' },

  async erase(transaction, { accountId }) {
    const keys = await keysOf(transaction, accountId);
    // The subject begins with scope and id, which have no characters that a pattern would read.
    for (const owner of [`account ${accountId}`, ...keys.map(({ id }) => `key ${id}`)])
      await transaction
        .deleteFrom('alerts')
        .where(sql<boolean>`subject like ${`${owner} %`}`)
        .execute();
  },
};
