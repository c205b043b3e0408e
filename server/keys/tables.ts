declare module '../../core/database/tables.js' {
  interface Tables {
    api_keys: ApiKeysTable;
  }
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
