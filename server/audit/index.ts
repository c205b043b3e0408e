/*
 * Writes and lists the audit log, for every folder whose actions are recorded.
 */

export {
  type Audit,
  type AuditEntry,
  type AuditLine,
  auditMigrations,
  compileAudit,
  createAudit,
  writeAudit,
} from './audit.js';
export { auditPersonalRecords, clearNotes } from './personal-records.js';
