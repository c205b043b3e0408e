/*
 * Finds accounts, and grants plans without an order, as an operator does. A grant changes the account, its keys and its
 * budget in one transaction and writes the audit row `plan.granted`.
 */

import { randomUUID } from 'node:crypto';
import { type Database, type DatabaseClock, isStorable } from '../../core/database/index.js';
import { writeAudit } from '../audit/index.js';
import { accountAt } from '../keys/index.js';
import type { PlanTerms } from '../plans/index.js';
import {
  type AccountPlan,
  type AccountRecord,
  findAccount,
  grantPlan,
  hasPlan,
  lockAccount,
  type PlanPreview,
  previewPlans,
  takeBackAll,
  toAccountPlan,
  toAccountRecord,
} from './account-plans.js';

export interface PlanGrant {
  accountId: string;
  terms: PlanTerms;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  /** Reason, in the actor's words. */
  note?: string;
}

export interface AccountsOptions {
  database: Database;
  times: DatabaseClock;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Accounts {
  readonly #database: AccountsOptions['database'];
  readonly #times: AccountsOptions['times'];

  constructor({ database, times }: AccountsOptions) {
    this.#database = database;
    this.#times = times;
  }

  async find(id: string): Promise<AccountRecord | undefined> {
    if (!isStorable(id)) return undefined;
    return this.#database.run(async (queries) => {
      const row = await findAccount(queries, id);
      if (!row) return undefined;
      return toAccountRecord(row.followingPlans === null ? row : accountAt(row, await this.#times.read(queries)));
    });
  }

  /** Computes the account's plan for each of these plans. Changes nothing. */
  async preview(accountId: string, terms: readonly PlanTerms[]): Promise<readonly PlanPreview[]> {
    if (!isStorable(accountId)) return [];
    return this.#database.run(async (queries) => {
      return previewPlans(queries, { accountId, terms, at: await this.#times.read(queries) });
    });
  }

  /**
   * Grants the account a plan without an order. All its keys follow in the same transaction, with plan, grants, RPM,
   * models, budget and end. An existing grant of the same plan is extended. Another plan starts at once: the rest of
   * the current one is credited as days of the new one, by price per day, rounded down; a plan without an end, or
   * without a comparable price, is paused and resumes at the end of the new one. The rest of a budget with the same
   * limits and period is kept and the plan's amount is added, unless its own plan resumes. Writes the audit row
   * `plan.granted` (subject: the account).
   * @throws GatewayError `account_not_found`.
   */
  grant({ accountId, terms, actor, note }: PlanGrant): Promise<AccountPlan> {
    return this.#database.transaction(async (transaction) => {
      const account = await lockAccount(transaction, this.#database.engine, accountId);
      const at = await this.#times.read(transaction);
      const change = { transaction, engine: this.#database.engine, account, at };
      const granted = await grantPlan({ ...change, id: `grant_${randomUUID()}`, terms });
      const line = { subject: accountId, at, actor, action: 'plan.granted', to: terms.planId, note } as const;
      await writeAudit(transaction, line);
      return toAccountPlan(granted) as AccountPlan;
    });
  }

  /**
   * Ends all plans of an account now, with their budgets; its keys follow in the same transaction. Writes the audit row
   * `plan.taken-back` for the current one. False if it had none.
   * @throws GatewayError `account_not_found`.
   */
  endPlans({ accountId, actor, note }: Omit<PlanGrant, 'terms'>): Promise<boolean> {
    const { engine } = this.#database;
    return this.#database.transaction(async (transaction) => {
      const account = await lockAccount(transaction, engine, accountId);
      const at = await this.#times.read(transaction);
      if (!hasPlan(accountAt(account, at), at)) return false;
      await takeBackAll({ transaction, engine, account, at });
      const line = { subject: accountId, at, actor, action: 'plan.taken-back', to: account.planId, note } as const;
      await writeAudit(transaction, line);
      return true;
    });
  }
}
