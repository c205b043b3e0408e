declare module '../../core/database/tables.js' {
  interface Tables {
    stored_responses: StoredResponsesTable;
  }
}

export interface StoredResponsesTable {
  id: string;
  account_id: string;
  model: string;
  upstream: string;
  created_at: number;
}
