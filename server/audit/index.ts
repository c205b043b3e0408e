/*
 * Writes and lists the audit log, for every folder whose actions are recorded.
 */

export {
  AUDIT_ACTIONS,
  Audit,
  type AuditAction,
  type AuditEntry,
  type AuditLine,
  type AuditPlace,
  auditMigrations,
  compileAudit,
  writeAudit,
} from './audit.js';
export { auditPersonalRecords, clearNotes } from './personal-records.js';
