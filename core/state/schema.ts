import type { JobKind, JobState } from '../jobs/index.js';
import type { SessionKind } from './accounts/index.js';
import type { AuditAction } from './audit/index.js';
import type { OrderState, ReviewReason } from './payments/index.js';
import type { Budget } from './usage/index.js';

/** The tables, alike on both engines. Times are whole milliseconds. */
export interface Tables {
  api_keys: ApiKeysTable;
  rate_windows: RateWindowsTable;
  rate_slots: RateSlotsTable;
  cache_entries: CacheEntriesTable;
  jobs: JobsTable;
  job_owners: JobOwnersTable;
  webhook_secrets: WebhookSecretsTable;
  idempotency_keys: IdempotencyKeysTable;
  daily_quotas: DailyQuotasTable;
  ledger: LedgerTable;
  budgets: BudgetsTable;
  reservations: ReservationsTable;
  admission_runners: AdmissionRunnersTable;
  usage_entries: UsageEntriesTable;
  usage_totals: UsageTotalsTable;
  usage_sums: UsageSumsTable;
  stored_responses: StoredResponsesTable;
  background_responses: BackgroundResponsesTable;
  accounts: AccountsTable;
  users: UsersTable;
  audit_entries: AuditEntriesTable;
  sessions: SessionsTable;
  sign_ins: SignInsTable;
  device_grants: DeviceGrantsTable;
  orders: OrdersTable;
  bank_transactions: BankTransactionsTable;
  plan_grants: PlanGrantsTable;
  instances: InstancesTable;
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
  /** Its own; the key is good until then and no longer than its plan. */
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
  changed_at: number;
  plan_id: string | null;
  budget_id: string | null;
  /** JSON array of model ids; null is all. */
  models: string | null;
  image_daily_limit: number | null;
  plan_expires_at: number | null;
  /** JSON array of KeyPlan: what comes back at that end, one after the other. */
  following_plans: string | null;
  suspended_at: number | null;
  replaced_by: string | null;
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

export interface CacheEntriesTable {
  key: string;
  value: string;
  expires_at: number;
}

export interface JobsTable {
  id: string;
  kind: JobKind;
  /**
   * SHA-256 of the dedupe key in lower-case hex: keys may be longer than an index takes, and hold any character. Empty
   * where nobody is to join the job; the release before this one writes its time and id there.
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
  /** Its owner: whoever asked first, and may look at it. */
  account_id: string;
  /** What the admission hooks keep with it, for its end; see admission.ts. */
  admission: string | null;
  /** Runs begun. Each run has its own number, so what a run writes is refused once another has begun. */
  attempts: number;
  /** Runs that ended with their process. */
  cut_offs: number;
  /** Who runs it; see runner.ts. */
  runner: string | null;
  /** Goes up while the run is alive. */
  beat: number;
  /** When it last went up while a run went on, for people to read: nothing is decided by it. */
  beat_at: number | null;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  result: string | null;
  error: string | null;
  /** Of the request that accepted it, where that has one. */
  request_id: string | null;
  /** The span that accepted it, as W3C Trace Context writes it; null where there are no traces. */
  traceparent: string | null;
  /** Whom to tell of its end; null where nobody is, or need be told any more. */
  webhook_url: string | null;
  /** When they are to be told next, 0 being at once; null before the end, and where nobody is to be told. */
  webhook_due_at: number | null;
  /** Tries to tell them that have begun. */
  webhook_tries: number;
}

/** Accounts whose secret is not their first one any more. The secrets themselves are nowhere; see server/webhooks/secrets.ts. */
export interface WebhookSecretsTable {
  account_id: string;
  version: number;
  changed_at: number;
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
  /** Of the job that was the answer; empty where there is none. */
  job_id: string;
  expires_at: number;
  /** The rest is of answers that are not jobs; see kept-answers-sql.ts. Null, or 0, where a job is. */
  account_id: string | null;
  /** Names the work that makes the answer, and the file that keeps it. */
  answer_id: string | null;
  /** Who is at that work; see runner.ts. Null once it has ended. */
  runner: string | null;
  /** Goes up while the work goes on. */
  beat: number;
  /** JSON: what the answer begins with. Null in a row of work that has ended: it was not kept, and the key is free. */
  head: string | null;
  /** JSON: why there is no answer, for those who wait for it. */
  failure: string | null;
  /** Of the answer's body. */
  bytes: number;
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

/** What a plan allows, and what of it is used in the running period and day; see budget-account.ts. */
export interface BudgetsTable {
  id: string;
  account_id: string;
  plan_id: string;
  token_limit: number | null;
  daily_token_limit: number | null;
  request_limit: number | null;
  resets: Budget['resets'];
  expires_at: number | null;
  created_at: number;
  /** By UTC: empty where it never ends, else `2026-06` or `2026-06-15`. */
  period: string;
  tokens_used: number;
  tokens_reserved: number;
  requests_used: number;
  day: string;
  tokens_used_today: number;
}

/** Requests under way that hold tokens of a budget. Deleted by whatever settles them, so that happens once. */
export interface ReservationsTable {
  id: string;
  budget_id: string;
  key_id: string;
  account_id: string;
  route: string;
  model: string;
  tokens: number;
  /** Of the budget, when its request was counted. */
  period: string;
  runner_id: string;
  at: number;
}

/** Processes that hold reservations; see admission-leases.ts. */
export interface AdmissionRunnersTable {
  id: string;
  /** See runner.ts. */
  runner: string;
  /** Goes up while the process is alive. */
  beat: number;
}

/** One row for each request of a model route. */
export interface UsageEntriesTable {
  key_id: string;
  at: number;
  request_id: string;
  account_id: string;
  route: string;
  model: string;
  status: number;
  latency_ms: number;
  input_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  characters: number | null;
  seconds: number | null;
  images: number | null;
  /** 1 or 0. */
  estimated: number;
}

export interface UsageTotalsTable {
  key_id: string;
  /** By UTC: `2026-06-15`. */
  day: string;
  account_id: string;
  route: string;
  model: string;
  requests: number;
  failed: number;
  estimated: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  characters: number;
  seconds: number;
  images: number;
  latency_ms_sum: number;
}

/** Requests that were counted together, without entries of their own, and are not to be counted again. */
export interface UsageSumsTable {
  id: string;
  at: number;
}

export interface StoredResponsesTable {
  id: string;
  account_id: string;
  model: string;
  upstream: string;
  created_at: number;
}

/** Responses that their upstream goes on making. Deleted by whatever corrects their entry for good, so that happens once. */
export interface BackgroundResponsesTable {
  id: string;
  account_id: string;
  model: string;
  upstream: string;
  /** These three name the entry that counts it by an estimate. */
  key_id: string;
  at: number;
  request_id: string;
  /** What the estimate was charged to. */
  budget_id: string | null;
  /** When the upstream is to be asked next. */
  due_at: number;
  /** From the last time that it was asked to the next; 0 where it never was. */
  wait_ms: number;
}

/** Whoever changes anything of an account locks its row first: keys, orders and plans of one account change one by one. */
export interface AccountsTable {
  id: string;
  created_at: number;
  suspended_at: number | null;
  /** Null, as all that follows, where it has no plan. */
  plan_id: string | null;
  /** JSON array. */
  grants: string | null;
  rpm: number | null;
  /** JSON array; null is all. */
  models: string | null;
  image_daily_limit: number | null;
  budget_id: string | null;
  plan_expires_at: number | null;
  /** JSON array of KeyPlan: what comes back at that end, one after the other. */
  following_plans: string | null;
  granted_at: number | null;
}

export interface UsersTable {
  id: string;
  account_id: string;
  issuer: string;
  subject: string;
  email: string | null;
  name: string | null;
  created_at: number;
  last_sign_in_at: number;
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

export interface SessionsTable {
  hash: string;
  user_id: string;
  kind: SessionKind;
  created_at: number;
  last_seen_at: number;
  idle_ms: number;
  /** By its lifetime. */
  ends_at: number;
  /** By its idle time or its lifetime, whichever is sooner. */
  expires_at: number;
}

export interface SignInsTable {
  state_hash: string;
  browser_hash: string;
  nonce: string;
  code_verifier: string;
  return_to: string;
  expires_at: number;
}

export interface DeviceGrantsTable {
  device_hash: string;
  user_code: string;
  client_name: string;
  state: 'pending' | 'approved' | 'denied';
  user_id: string | null;
  interval_seconds: number;
  polled_at: number | null;
  created_at: number;
  expires_at: number;
}

export interface OrdersTable {
  code: string;
  account_id: string;
  plan_id: string;
  /** JSON of PlanTerms. */
  terms: string;
  amount: number;
  currency: string;
  state: OrderState;
  paid_amount: number;
  created_at: number;
  expires_at: number;
  paid_at: number | null;
  /** SHA-256 of account and key in lower-case hex. */
  idempotency_hash: string | null;
  /** SHA-256, too. */
  fingerprint: string | null;
}

export interface BankTransactionsTable {
  provider: string;
  id: string;
  amount: number;
  currency: string;
  text: string;
  at: number;
  recorded_at: number;
  order_code: string | null;
  review: ReviewReason | null;
}

/** What was granted, once for each id. */
export interface PlanGrantsTable {
  /** Code of the order that paid for it; else random. */
  id: string;
  account_id: string;
  /** 1, 2, … of the account, in the order in which they were made, for those of one moment; 0 in rows of the release before. */
  number: number;
  /** JSON of PlanTerms. */
  terms: string;
  /** What the grant made or extended. */
  budget_id: string | null;
  granted_at: number;
  taken_back_at: number | null;
}

export interface InstancesTable {
  id: string;
  started_at: number;
  beat_at: number;
  /** JSON array of Fingerprint. */
  fingerprints: string;
}
