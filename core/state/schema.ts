import type { JobKind, JobState } from './jobs.js';

/** The tables, alike on both engines. Times are whole milliseconds. */
export interface Tables {
  api_keys: ApiKeysTable;
  rate_windows: RateWindowsTable;
  rate_slots: RateSlotsTable;
  cache_entries: CacheEntriesTable;
  jobs: JobsTable;
  job_owners: JobOwnersTable;
  idempotency_keys: IdempotencyKeysTable;
  daily_quotas: DailyQuotasTable;
  ledger: LedgerTable;
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

export interface JobsTable {
  id: string;
  kind: JobKind;
  /**
   * SHA-256 of the dedupe key in lower-case hex: keys may be longer than an index takes, and hold any character. Time and
   * id of the job where nobody is to join it.
   */
  dedupe_hash: string;
  state: JobState;
  /** Jobs of a kind run in this order, those of the same place by age; see job-turns.ts. */
  place: number;
  /** JSON, as `input`, `result` and `error`; null in a row that the release before this one wrote. */
  summary: string | null;
  input: string;
  /** Empty where the job was asked for without one. */
  key_id: string;
  /** Whoever asked first, and may look at it. */
  account_id: string;
  /** The day whose quota it took, `2026-06-15`. */
  quota_day: string | null;
  /** Runs begun. Each run has its own number, so what a run writes is refused once another has begun. */
  attempts: number;
  /** Runs that ended with their process. */
  cut_offs: number;
  /** Who runs it; see runner.ts. */
  runner: string | null;
  /** Goes up while the run is alive. */
  beat: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  result: string | null;
  error: string | null;
}

/** Accounts that joined a job and may look at it as well. */
export interface JobOwnersTable {
  job_id: string;
  account_id: string;
}

export interface IdempotencyKeysTable {
  /** SHA-256 of scope and key in lower-case hex. */
  hash: string;
  /** SHA-256, too. */
  fingerprint: string;
  job_id: string;
  expires_at: number;
}

/** What an account took of a day's quota and did not give back. */
export interface DailyQuotasTable {
  account_id: string;
  kind: JobKind;
  /** By UTC: `2026-06-15`. */
  day: string;
  used: number;
}

/** What completed jobs cost: one row each, which outlives the job. */
export interface LedgerTable {
  job_id: string;
  kind: JobKind;
  account_id: string;
  key_id: string;
  model: string;
  units: number;
  /** JSON. */
  usage: string | null;
  at: number;
}
