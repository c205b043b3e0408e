/*
 * Erases the rate limits of an account, which are kept under its own id. What its keys have used ends within a minute;
 * daily quotas end with the day.
 */

import type { PersonalRecords } from '../personal-records/index.js';
import { forgetRateLimits } from './rate-limit.js';

export const limitPersonalRecords: PersonalRecords = {
  tables: { rate_slots: 'deleted', rate_windows: 'deleted', daily_quotas: 'retained' },
  erase: (transaction, { accountId }) => forgetRateLimits(transaction, [accountId]),
};
