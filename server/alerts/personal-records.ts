/*
 * Erases the alerts about budgets of a person's account; budgets of a user's own keys cause none. Alerts are for
 * operators, so an export has none of them.
 */

import { sql } from '../../core/database/index.js';
import type { PersonalRecords } from '../personal-records/index.js';

export const alertPersonalRecords: PersonalRecords = {
  tables: { alerts: 'deleted' },

  async erase(transaction, { accountId }) {
    const start = `account ${accountId} `;
    const isOfAccount = sql<boolean>`substr(subject, 1, ${sql.lit(start.length)}) = ${start}`;
    await transaction.deleteFrom('alerts').where(isOfAccount).execute();
  },
};
