/*
 * The tables of budgets: one row for each budget with what it has counted, one for each group of keys, and one for each
 * alert that was or will be sent.
 */

import { type Migrations, sqlMigration } from '../../core/database/index.js';
import type { BudgetState } from './budgets.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    budgets: BudgetsTable;
    key_groups: KeyGroupsTable;
    budget_alerts: BudgetAlertsTable;
  }
}

/** The state of a budget, with the period and day that it was last counted in; see budgets.ts. */
export interface BudgetsTable extends BudgetState {
  /** UTC: empty if the period never ends, else `2026-06` or `2026-06-15`. */
  period: string;
  day: string;
}

/** Groups of keys that share budgets, such as teams. */
export interface KeyGroupsTable {
  name: string;
  createdAt: number;
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
};
