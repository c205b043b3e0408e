declare module '../database/tables.js' {
  interface Tables {
    cache_entries: CacheEntriesTable;
  }
}

export interface CacheEntriesTable {
  key: string;
  value: string;
  expires_at: number;
}
