import type { JobKind } from '../../core/jobs/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    rate_windows: RateWindowsTable;
    rate_slots: RateSlotsTable;
    daily_quotas: DailyQuotasTable;
  }
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
  /** The youngest slots, which have no rows of their own; see slot-runs.ts. */
  recent: string;
}

/** Slots taken at the same time share a row: it begins with slot `seq` and ends where the next row begins, or `recent`. */
export interface RateSlotsTable {
  key_id: string;
  family: string;
  seq: number;
  at: number;
}

/** What an account took of a day's quota and did not give back. */
export interface DailyQuotasTable {
  account_id: string;
  kind: JobKind;
  /** By UTC: `2026-06-15`. */
  day: string;
  used: number;
}
