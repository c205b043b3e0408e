import { randomUUID } from 'node:crypto';
import { type Database, type DatabaseClock, isStorable } from '../../core/database/index.js';
import { writeAudit } from '../audit/index.js';
import { accountAt } from '../keys/index.js';
import type { PlanTerms } from '../plans/index.js';
import { findAccount, grantPlan, lockAccount, previewPlans, toAccountPlan, toAccountRecord } from './account-plans.js';

declare module '../http/server-context.js' {
  interface AccountStores {
    readonly accounts: Accounts;
  }
}

/** The plan that an account has. Times are milliseconds since 1970. */
export interface AccountPlan extends Omit<PlanTerms, 'durationMs' | 'budget' | 'price'> {
  /** What model requests of all its keys are counted against; null is unlimited. */
  budgetId: string | null;
  /** Its keys have the plan that follows from then on, or answer `expired_api_key` where none does; null is never. */
  expiresAt: number | null;
  /** The latest time. */
  grantedAt: number;
}

/** What a plan would make of an account's, if it were granted at `at`. Times are milliseconds since 1970. */
export interface PlanPreview {
  planId: string;
  at: number;
  /** When the plan would end; null is never. */
  expiresAt: number | null;
  /** Days of it for what is left of the running plan. */
  creditedDays: number;
  /** The running plan, where it is another one. */
  replacedPlanId: string | null;
  /** What comes back at its end. */
  nextPlanId: string | null;
  /** Whether the rest of the running plan is given up: this one has no end, after which it could come back. */
  endsReplaced: boolean;
}

/** What keys, jobs, orders and budgets belong to. */
export interface AccountRecord {
  /** `acct_` and 128 random bits. */
  id: string;
  createdAt: number;
  /** Since when its user is suspended. */
  suspendedAt: number | null;
  /** Null until the first key was made or the first plan granted. */
  plan: AccountPlan | null;
}

export interface PlanGrant {
  accountId: string;
  terms: PlanTerms;
  /** Who grants it, for the audit: `operator:ann`. */
  actor: string;
  /** Why, in the words of whoever does it. */
  note?: string;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Accounts {
  find(id: string): Promise<AccountRecord | undefined>;
  /**
   * Gives the account a plan without an order. All its keys follow in the same transaction, with plan, grants, RPM, models,
   * budget and end. The plan it already has is lengthened. Another plan starts at once: what is left of the running one is
   * credited as days of the new one, by price per day, rounded down; a plan without an end, or without a price to compare,
   * is paused and comes back at the end of the new one. What is left of a budget that limits the same things in the same
   * rhythm is kept and what the plan adds comes on top, except where its own plan comes back.
   * Writes the audit row `plan.granted` (subject: the account).
   * @throws GatewayError `account_not_found`.
   */
  grant(grant: PlanGrant): Promise<AccountPlan>;
  /** What each of these plans would make of the account's plan now. Changes nothing. */
  preview(accountId: string, terms: readonly PlanTerms[]): Promise<readonly PlanPreview[]>;
}

export interface AccountsOptions {
  database: Database;
  times: DatabaseClock;
}

/** Accounts in SQL. */
export function createAccounts({ database, times }: AccountsOptions): Accounts {
  const { engine } = database;
  return {
    async find(id) {
      if (!isStorable(id)) return undefined;
      return database.run(async (queries) => {
        const row = await findAccount(queries, id);
        if (!row) return undefined;
        return toAccountRecord(row.followingPlans === null ? row : accountAt(row, await times.read(queries)));
      });
    },

    async preview(accountId, terms) {
      if (!isStorable(accountId)) return [];
      return database.run(async (queries) => {
        return previewPlans(queries, { accountId, terms, at: await times.read(queries) });
      });
    },

    grant: ({ accountId, terms, actor, note }) =>
      database.transaction(async (transaction) => {
        const account = await lockAccount(transaction, engine, accountId);
        const at = await times.read(transaction);
        const change = { transaction, engine, account, at };
        const granted = await grantPlan({ ...change, id: `grant_${randomUUID()}`, terms });
        const line = { subject: accountId, at, actor, action: 'plan.granted', to: terms.planId, note } as const;
        await writeAudit(transaction, line);
        return toAccountPlan(granted) as AccountPlan;
      }),
  };
}
