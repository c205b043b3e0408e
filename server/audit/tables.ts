import type { AuditAction } from './audit.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    audit_entries: AuditEntriesTable;
  }
}

export interface AuditEntriesTable {
  subject: string;
  number: number;
  at: number;
  actor: string;
  action: AuditAction;
  from_state: string | null;
  to_state: string | null;
  note: string | null;
}
