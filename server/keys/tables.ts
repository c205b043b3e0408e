/*
 * The table of API keys: one row for each, with the hash of the key, the plan of its account in columns, and its own
 * limits beside them. key-rows.ts says what a row means.
 */

import type { JobPriority } from '../../core/contracts/index.js';
import { type Migrations, sqlMigration } from '../../core/database/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    api_keys: ApiKeysTable;
  }
}

export interface ApiKeysTable {
  id: string;
  name: string;
  hash: string;
  pepperVersion: number;
  /** JSON array. */
  grants: string;
  rpm: number | null;
  accountId: string;
  createdAt: number;
  /** Its own end; the key is valid until then and no longer than its plan. */
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  changedAt: number;
  planId: string | null;
  budgetId: string | null;
  /** JSON array of ids: the budgets of the key itself, its account and its group. */
  furtherBudgets: string | null;
  groupName: string | null;
  priority: JobPriority | null;
  /** JSON array of model ids; null is all. */
  models: string | null;
  imageDailyLimit: number | null;
  planExpiresAt: number | null;
  /** JSON array of KeyPlan: the plans that follow that end, one after the other. */
  followingPlans: string | null;
  /** JSON object of KeyBalance: the prepaid balance of its account. */
  balance: string | null;
  /** JSON object of OwnLimits, without the end. */
  ownLimits: string | null;
  suspendedAt: number | null;
  replacedBy: string | null;
  /** 1 if its queued jobs were left to its account when it was revoked. */
  keepsJobs: number | null;
  /** 1 for the key that pages of the site use for its account, 2 for that of a connected agent. */
  internal: number | null;
}

/** The table of the API keys. */
export const keyMigrations: Migrations = {
  '0001-keys': sqlMigration(
    `create table api_keys (
      id text primary key, name text not null, hash text not null, "pepperVersion" integer not null, grants text not null,
      rpm integer, "accountId" text not null, "createdAt" bigint not null, "expiresAt" bigint, "revokedAt" bigint,
      "lastUsedAt" bigint, "changedAt" bigint not null, "planId" text, "budgetId" text, models text, "imageDailyLimit" integer,
      "planExpiresAt" bigint, "followingPlans" text, "suspendedAt" bigint, "replacedBy" text, "keepsJobs" integer,
      "furtherBudgets" text, "groupName" text, priority text)`,
    `create index api_keys_account on api_keys ("accountId", "createdAt", id)`,
    `create index api_keys_group on api_keys ("groupName")`,
    `create index api_keys_changed_at on api_keys ("changedAt")`,
  ),
  '0002-internal-keys': {
    ...sqlMigration(
      'alter table api_keys add column internal integer',
      `create unique index api_keys_internal on api_keys ("accountId") where internal = 1 and "revokedAt" is null`,
    ),
    changes: ['api_keys'],
  },
  '0002-own-limits': {
    ...sqlMigration('alter table api_keys add column "ownLimits" text'),
    changes: ['api_keys'],
  },
};
