/*
 * Collects the migrations of all folders that own tables. They run in the order of their names, and a released
 * migration never changes.
 */

import { type Migrations, processMigrations } from '../core/database/index.js';
import { jobMigrations } from '../core/jobs/index.js';
import { cacheMigrations } from '../core/storage/index.js';
import { accountMigrations } from './accounts/index.js';
import { alertMigrations } from './alerts/index.js';
import { auditMigrations } from './audit/index.js';
import { batchMigrations } from './batches/tables.js';
import { budgetMigrations } from './budgets/index.js';
import { idempotencyMigrations } from './idempotency/index.js';
import { identityMigrations } from './identity/index.js';
import { keyMigrations } from './keys/index.js';
import { ledgerMigrations } from './ledger/index.js';
import { limitMigrations } from './limits/index.js';
import { linkMigrations } from './links/blocked-links.js';
import { adminMigrations } from './list-indexes.js';
import { modelChangeMigrations } from './model-changes/changed-models.js';
import { responseMigrations } from './models/index.js';
import { passkeyMigrations } from './passkeys/index.js';
import { paymentMigrations } from './payments/index.js';
import { erasureMigrations } from './personal-data/index.js';
import { probeMigrations } from './probes/index.js';
import { historyMigrations } from './status/history.js';
import { incidentMigrations } from './status/incidents.js';
import { latencyMigrations, usageMigrations } from './usage/index.js';
import { webhookMigrations } from './webhooks/index.js';

/**
 * The migrations of all folders that own tables, run in the order of their names. No release has been made yet, so each folder
 * has one, which creates its tables. From the first release on, a released migration is never changed. A change takes two
 * releases: the first expands the schema and leaves it usable by the release before it; the second drops what no release
 * reads any more. The name of a migration that drops something says which releases can still use the schema:
 * `0012-no-summary-needs-0009` refuses releases that do not have migration 0009.
 */
export const migrations: Migrations = {
  ...accountMigrations,
  ...adminMigrations,
  ...alertMigrations,
  ...auditMigrations,
  ...budgetMigrations,
  ...cacheMigrations,
  ...erasureMigrations,
  ...idempotencyMigrations,
  ...identityMigrations,
  ...jobMigrations,
  ...batchMigrations,
  ...keyMigrations,
  ...latencyMigrations,
  ...ledgerMigrations,
  ...limitMigrations,
  ...linkMigrations,
  ...modelChangeMigrations,
  ...passkeyMigrations,
  ...paymentMigrations,
  ...probeMigrations,
  ...processMigrations,
  ...responseMigrations,
  ...historyMigrations,
  ...incidentMigrations,
  ...usageMigrations,
  ...webhookMigrations,
};
