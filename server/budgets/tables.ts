/*
 * The tables of budgets: one row for each budget with what it has counted, one for each group of keys, with whether its
 * members see one another's keys, and one for each alert that was or will be sent.
 */

import { type Migrations, type Selectable, sqlMigration } from '../../core/database/index.js';
import type { BudgetPeriod } from './amounts.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    budgets: BudgetsTable;
    key_groups: KeyGroupsTable;
    budget_alerts: BudgetAlertsTable;
  }
}

/** The state of a budget, with the period and day that it was last counted in; see budgets.ts. */
export interface BudgetsTable extends BudgetState {
  /** Of a balance: an alert is due when less is left. Null: not again until the next top-up. */
  lowBelow: number | null;
  /** UTC: empty if the period never ends, else `2026-06` or `2026-06-15`. */
  period: string;
  day: string;
}

/** Groups of keys that share budgets, such as teams. */
export interface KeyGroupsTable {
  name: string;
  createdAt: number;
  /** 1 if users with a key of the group see its keys, without their secrets. */
  membersSee: number | null;
}

/** An alert of a limit: at most one for its period, threshold and amount. See alerts.ts. */
export interface BudgetAlertsTable {
  budgetId: string;
  /** Unit and period: `money 2026-06`. */
  period: string;
  /** 80 or 100. */
  percent: number;
  /** Tokens, requests or micro units. */
  limit: number;
  /** JSON: what the webhook says. */
  data: string;
  at: number;
  /** When it is sent next; null if it was delivered or given up. */
  dueAt: number | null;
  tries: number;
}

export const budgetMigrations: Migrations = {
  '0001-budgets': sqlMigration(
    `create table budgets (
      id text primary key, "accountId" text not null, "planId" text, scope text not null, subject text not null,
      "tokenLimit" bigint, "dailyTokenLimit" bigint, "requestLimit" bigint, "costLimit" bigint, currency text, resets text not null, "expiresAt" bigint, "createdAt" bigint not null, period text not null,
      "tokensUsed" bigint not null, "tokensReserved" bigint not null, "requestsUsed" bigint not null, day text not null,
      "tokensUsedToday" bigint not null, "costUsed" bigint not null, "costReserved" bigint not null)`,
    `create index budgets_subject on budgets (subject, scope)`,
    `create table key_groups (name text primary key, "createdAt" bigint not null)`,
    `create table budget_alerts (
      "budgetId" text not null, period text not null, percent integer not null, "limit" bigint not null, data text not null,
      at bigint not null, "dueAt" bigint, tries integer not null, primary key ("budgetId", period, percent, "limit"))`,
    `create index budget_alerts_due_at on budget_alerts ("dueAt")`,
  ),
  '0010-group-view': {
    ...sqlMigration('alter table key_groups add column "membersSee" integer'),
    changes: ['key_groups'],
  },
};

export type BudgetRow = Selectable<BudgetsTable>;

/** The state of a budget. Used and reserved amounts belong to the current period. */
export interface BudgetState extends Required<Budget> {
  tokensUsed: number;
  /** Reserved for running requests. */
  tokensReserved: number;
  requestsUsed: number;
  tokensUsedToday: number;
  /** In micro units, as the following. */
  costUsed: number;
  costReserved: number;
}

/**
 * What may be used in a period, shared by all keys that it is counted for (a rotated key keeps the budget of the old
 * one). Each limit is for the whole period; null is unlimited.
 */
export interface Budget {
  id: string;
  accountId: string;
  /** Null if it is not that of a plan. */
  planId: string | null;
  /** Default `plan`. */
  scope?: BudgetScope;
  /** Name of the group, or id of the account or of the first key. Default: empty, for a plan. */
  subject?: string;
  /** Input and output tokens together. */
  tokenLimit: number | null;
  /** Tokens per UTC day. */
  dailyTokenLimit: number | null;
  /** Accepted model requests. */
  requestLimit: number | null;
  /** Money, in micro units of `currency`. Default: unlimited. */
  costLimit?: number | null;
  /** ISO 4217. Default: none, without `costLimit`. */
  currency?: string | null;
  /** When the usage is reset (UTC). */
  resets: BudgetPeriod;
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  createdAt: number;
}

/**
 * Who shares a budget: the keys of a plan, a key and its successors, all keys of an account, or all of a group. With
 * `balance` it is the prepaid balance of an account; see balances.ts.
 */
export type BudgetScope = 'plan' | 'key' | 'account' | 'group' | 'balance';
