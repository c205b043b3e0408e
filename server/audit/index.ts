export { type Audit, type AuditEntry, type AuditLine, compileAudit, createAudit, writeAudit } from './audit.js';
