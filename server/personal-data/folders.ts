/*
 * The folders that store something of a person, in the order of the exported document. An erasure begins with accounts,
 * which close the account and lock its row, and ends with the audit log, where the person may be mentioned anywhere.
 */

import type { Jobs } from '../../core/jobs/index.js';
import { accountPersonalRecords } from '../accounts/index.js';
import { alertPersonalRecords } from '../alerts/index.js';
import { auditPersonalRecords } from '../audit/index.js';
import { batchPersonalRecords } from '../batches/index.js';
import { budgetPersonalRecords } from '../budgets/index.js';
import { idempotencyPersonalRecords } from '../idempotency/index.js';
import { identityPersonalRecords } from '../identity/index.js';
import { keyPersonalRecords } from '../keys/index.js';
import { ledgerPersonalRecords } from '../ledger/index.js';
import { limitPersonalRecords } from '../limits/index.js';
import { responsePersonalRecords } from '../models/index.js';
import { passkeyPersonalRecords } from '../passkeys/index.js';
import { paymentPersonalRecords } from '../payments/index.js';
import type { PersonalRecords } from '../personal-records/index.js';
import { usagePersonalRecords } from '../usage/index.js';
import { webhookPersonalRecords } from '../webhooks/index.js';
import { jobPersonalRecords } from './jobs.js';

export function personalRecords(jobs: Pick<Jobs, 'cancel'>): readonly PersonalRecords[] {
  return [
    accountPersonalRecords,
    passkeyPersonalRecords,
    identityPersonalRecords,
    webhookPersonalRecords,
    limitPersonalRecords,
    keyPersonalRecords,
    budgetPersonalRecords,
    alertPersonalRecords,
    ledgerPersonalRecords,
    paymentPersonalRecords,
    usagePersonalRecords,
    jobPersonalRecords(jobs),
    batchPersonalRecords,
    idempotencyPersonalRecords,
    responsePersonalRecords,
    auditPersonalRecords,
    // The row of the erasure itself.
    { tables: { erasures: 'retained' } },
  ];
}
