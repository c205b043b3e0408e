import type { Tables } from '../../core/database/index.js';

/** Whether a table goes along when the state moves to another database; what a cache held is made again, and processes add themselves. */
const GOES_ALONG: Readonly<Record<keyof Tables, boolean>> = {
  accounts: true,
  users: true,
  sessions: true,
  sign_ins: true,
  device_grants: true,
  audit_entries: true,
  api_keys: true,
  budgets: true,
  plan_grants: true,
  orders: true,
  bank_transactions: true,
  rate_windows: true,
  rate_slots: true,
  daily_quotas: true,
  jobs: true,
  job_owners: true,
  webhook_secrets: true,
  idempotency_keys: true,
  ledger: true,
  admission_runners: true,
  reservations: true,
  usage_entries: true,
  usage_totals: true,
  usage_sums: true,
  stored_responses: true,
  background_responses: true,
  cache_entries: false,
  instances: false,
};

/** Tables that go along, each behind those that its rows refer to. */
export const MOVED_TABLES = (Object.keys(GOES_ALONG) as (keyof Tables)[]).filter((name) => GOES_ALONG[name]);
