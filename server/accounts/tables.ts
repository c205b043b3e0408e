/*
 * The tables of accounts, users, sessions, sign-in attempts, device codes, granted plans and erased allowances. Secrets
 * are stored as hashes alone. Each user has a role. An account's row has its plan in columns and the plans after it as JSON, so a plan that
 * resumes needs no write. Every change of an account locks its row first, so that keys, orders and plans of one account
 * change one by one. Issuer and subject together identify a user; the e-mail address does not.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';
import type { Person } from '../personal-records/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    accounts: AccountsTable;
    users: Omit<UserRecord, 'suspendedAt'>;
    sessions: SessionsTable;
    sign_ins: SignInsTable;
    device_grants: DeviceGrantsTable;
    plan_grants: PlanGrantsTable;
    erased_allowances: ErasedAllowancesTable;
  }
}

/** Every change of an account locks its row first, so that keys, orders and plans of one account change one by one. */
export interface AccountsTable {
  id: string;
  createdAt: number;
  suspendedAt: number | null;
  /** Null, like the following columns, if it has no plan. */
  planId: string | null;
  /** JSON array. */
  grants: string | null;
  rpm: number | null;
  /** JSON array; null is all. */
  models: string | null;
  imageDailyLimit: number | null;
  budgetId: string | null;
  planExpiresAt: number | null;
  /** JSON array of KeyPlan: the plans that follow that end, one after the other. */
  followingPlans: string | null;
  grantedAt: number | null;
  /** JSON object of KeyBalance: its prepaid balance. Null: it has none. */
  balance: string | null;
  /** Whether it may top up: 1 or 0; null is as the gateway's setting. */
  topsUp: number | null;
}

export interface SessionsTable {
  hash: string;
  userId: string;
  kind: SessionKind;
  createdAt: number;
  lastSeenAt: number;
  idleMs: number;
  /** End by lifetime. */
  endsAt: number;
  /** The earlier end by idle time or lifetime. */
  expiresAt: number;
}

export interface SignInsTable {
  stateHash: string;
  browserHash: string;
  nonce: string;
  codeVerifier: string;
  returnTo: string;
  expiresAt: number;
}

export interface DeviceGrantsTable {
  deviceHash: string;
  userCode: string;
  clientName: string;
  state: 'pending' | 'approved' | 'denied';
  userId: string | null;
  intervalSeconds: number;
  polledAt: number | null;
  createdAt: number;
  expiresAt: number;
}

/** Grants, each id once. */
export interface PlanGrantsTable {
  /** Code of the paid order; otherwise random. */
  id: string;
  accountId: string;
  /** 1, 2, … within the account, in order of creation, for grants of the same moment. */
  number: number;
  /** JSON of PlanTerms. */
  terms: string;
  /** The budget that the grant created or extended. */
  budgetId: string | null;
  grantedAt: number;
  takenBackAt: number | null;
}

/** The tables of accounts, users, sign-in and granted plans. */
export const accountMigrations: Migrations = {
  '0001-accounts': sqlMigration(
    `create table accounts (
      id text primary key, "createdAt" bigint not null, "suspendedAt" bigint, "planId" text, grants text, rpm integer, models text,
      "imageDailyLimit" integer, "budgetId" text, "planExpiresAt" bigint, "followingPlans" text, "grantedAt" bigint)`,
    `create table users (
      id text primary key, "accountId" text not null unique references accounts (id), issuer text not null,
      subject text not null, email text, name text, "createdAt" bigint not null, "lastSignInAt" bigint not null,
      unique (issuer, subject))`,
    `create index users_created_at on users ("createdAt", id)`,
    `create table sessions (
      hash text primary key, "userId" text not null references users (id), kind text not null, "createdAt" bigint not null,
      "lastSeenAt" bigint not null, "idleMs" bigint not null, "endsAt" bigint not null, "expiresAt" bigint not null)`,
    `create index sessions_user on sessions ("userId", "lastSeenAt")`,
    `create index sessions_expires_at on sessions ("expiresAt")`,
    `create table sign_ins (
      "stateHash" text primary key, "browserHash" text not null, nonce text not null, "codeVerifier" text not null,
      "returnTo" text not null, "expiresAt" bigint not null)`,
    `create index sign_ins_expires_at on sign_ins ("expiresAt")`,
    `create table device_grants (
      "deviceHash" text primary key, "userCode" text not null unique, "clientName" text not null, state text not null,
      "userId" text, "intervalSeconds" integer not null, "polledAt" bigint, "createdAt" bigint not null, "expiresAt" bigint not null)`,
    `create index device_grants_expires_at on device_grants ("expiresAt")`,
    `create table plan_grants (
      id text primary key, "accountId" text not null, number integer not null, terms text not null, "budgetId" text,
      "grantedAt" bigint not null, "takenBackAt" bigint)`,
    `create index plan_grants_account on plan_grants ("accountId", "grantedAt")`,
    `create table erased_allowances (hash text primary key, used text not null, "expiresAt" bigint not null)`,
    `create index erased_allowances_expires_at on erased_allowances ("expiresAt")`,
  ),
  '0002-languages': { ...sqlMigration('alter table users add column language text'), changes: ['users'] },
  '0004-roles': {
    ...sqlMigration(
      `alter table users add column role text not null default 'member'`,
      `update users set role = 'operator' where "accountId" in (select id from accounts where "planId" = 'operator')`,
      `create index users_operators on users (id) where role = 'operator'`,
    ),
    changes: ['users'],
  },
};

/** A user. Times are milliseconds since 1970. */
export interface UserRecord extends Person {
  createdAt: number;
  lastSignInAt: number;
  suspendedAt: number | null;
  /** Of the pages: a tag of BCP 47. Null if the user has not chosen one. */
  language: string | null;
  role: UserRole;
}

/** In the order of their rights, most first; see roles.ts. */
export type UserRole = 'operator' | 'billing' | 'member';

/** `browser`: a cookie. `device`: a bearer token. */
export type SessionKind = 'browser' | 'device';

export interface ErasedAllowancesTable {
  /** HMAC-SHA256 of issuer and subject, in hex. */
  hash: string;
  /** JSON of {@link UsedAllowance}. */
  used: string;
  /** End of the period, in milliseconds since 1970. */
  expiresAt: number;
}
