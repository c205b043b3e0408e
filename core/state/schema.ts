/** The tables, alike on both engines. Times are whole milliseconds. */
export interface Tables {
  api_keys: ApiKeysTable;
  rate_windows: RateWindowsTable;
  rate_slots: RateSlotsTable;
  cache_entries: CacheEntriesTable;
}

export interface ApiKeysTable {
  id: string;
  name: string;
  hash: string;
  pepper_version: number;
  /** JSON array. */
  grants: string;
  rpm: number | null;
  account_id: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
  changed_at: number;
}

/** One row for each key and route family that ever had a limit; see slots.ts. */
export interface RateWindowsTable {
  key_id: string;
  family: string;
  /** The window's own time when this row was written. */
  time: number;
  /** Which clock `wall` and `steady` were read from. */
  reader: string;
  wall: number;
  steady: number;
  /** Number of the next slot to be taken; the live ones are `tail_seq` up to here. */
  next_seq: number;
  tail_seq: number;
  /** When the oldest live slot was taken. */
  tail_at: number;
  /** When the youngest slot was taken; -1 before the first. */
  last_at: number;
}

/** Slots taken at the same time share a row: it begins with slot `seq` and ends where the next row begins. */
export interface RateSlotsTable {
  key_id: string;
  family: string;
  seq: number;
  at: number;
}

export interface CacheEntriesTable {
  key: string;
  value: string;
  expires_at: number;
}
