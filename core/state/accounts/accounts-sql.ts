import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/index.js';
import { isKept } from '../../database/index.js';
import type { JobClock } from '../../jobs/index.js';
import { writeAudit } from '../audit/index.js';
import { findAccount, lockAccount, toAccountPlan, toAccountRecord } from './account-table.js';
import type { AccountPlan, Accounts } from './accounts.js';
import { accountAt } from './plan-following.js';
import { grantPlan, previewPlans } from './plan-grants.js';

export interface AccountsOptions {
  database: Database;
  times: JobClock;
}

/** Accounts in SQL. */
export function createAccounts({ database, times }: AccountsOptions): Accounts {
  const { engine } = database;
  return {
    async find(id) {
      if (!isKept(id)) return undefined;
      return database.run(async (queries) => {
        const row = await findAccount(queries, id);
        if (!row) return undefined;
        return toAccountRecord(row.following_plans === null ? row : accountAt(row, await times.read(queries)));
      });
    },

    async preview(accountId, terms) {
      if (!isKept(accountId)) return [];
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
