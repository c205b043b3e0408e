import type { SessionKind } from './sessions.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    accounts: AccountsTable;
    users: UsersTable;
    sessions: SessionsTable;
    sign_ins: SignInsTable;
    device_grants: DeviceGrantsTable;
    plan_grants: PlanGrantsTable;
  }
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
