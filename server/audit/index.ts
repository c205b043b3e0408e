export type { Audit, AuditEntry } from './audit.js';
export { type AuditLine, compileAudit, createAudit, writeAudit } from './audit.js';
