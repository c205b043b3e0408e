export {
  type Audit,
  type AuditEntry,
  type AuditLine,
  auditMigrations,
  compileAudit,
  createAudit,
  writeAudit,
} from './audit.js';
