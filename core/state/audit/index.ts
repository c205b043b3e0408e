export type { Audit, AuditAction } from './audit.js';
export { type AuditLine, compileAudit, createAudit, writeAudit } from './audit-sql.js';
