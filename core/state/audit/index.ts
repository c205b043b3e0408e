export type { Audit, AuditAction } from './audit.js';
export { type AuditLine, createAudit, writeAudit } from './audit-sql.js';
