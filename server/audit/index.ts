/*
 * Writes and lists the audit log, for every folder whose actions are recorded.
 */

export {
  Audit,
  type AuditEntry,
  type AuditLine,
  auditMigrations,
  compileAudit,
  writeAudit,
} from './audit.js';
export { auditPersonalRecords, clearNotes } from './personal-records.js';
