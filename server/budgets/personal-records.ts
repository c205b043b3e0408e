/*
 * An erasure keeps budgets, as bookkeeping under the random ids of account and keys. Those of plans are closed by
 * server/accounts.
 */

import type { PersonalRecords } from '../personal-records/index.js';

export const budgetPersonalRecords: PersonalRecords = { tables: { budgets: 'retained' } };
