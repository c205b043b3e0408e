/*
 * Erases the rate limits of an account, which are kept under its own id. What its keys have used ends within a minute;
 * daily quotas end with the day.
 */

import type { Tables, Transaction } from '../../core/database/index.js';
import type { PersonalRecords } from '../personal-records/index.js';

export const limitPersonalRecords: PersonalRecords = {
  tables: { rate_slots: 'deleted', rate_windows: 'deleted', daily_quotas: 'retained' },
  erase: (transaction, { accountId }) => forgetRateLimits(transaction, [accountId]),
};

/** Deletes what keys have used of their rate limits. Those of a site account are under the account's id. */
export async function forgetRateLimits(transaction: Transaction<Tables>, keyIds: readonly string[]): Promise<void> {
  await transaction.deleteFrom('rate_slots').where('keyId', 'in', keyIds).execute();
  await transaction.deleteFrom('rate_windows').where('keyId', 'in', keyIds).execute();
}
