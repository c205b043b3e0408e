/*
 * What server/keys needs of accounts and budgets when it makes or rotates a key: the account's lock, which refuses a
 * suspended account, and what its plan gives to a key. An account without a plan gets the free tier with its first key,
 * and resumes the budget that it had. Budgets of the account apply to every new key.
 */

import { randomUUID } from 'node:crypto';
import type { Engine } from '../../core/database/index.js';
import { writeAudit } from '../audit/index.js';
import { addKeyBudgets, budgetIdsOf, holdBudgetOwners } from '../budgets/index.js';
import { accountAt, type KeyOwners } from '../keys/index.js';
import type { PlanTerms } from '../plans/index.js';
import { grantPlan, hasPlan, lockAccount, refuseSuspended } from './account-plans.js';

export function createKeyOwners(engine: Engine): KeyOwners<PlanTerms> {
  return {
    holdBudgets: (transaction) => holdBudgetOwners(transaction, engine),
    async lock(transaction, accountId) {
      const locked = await lockAccount(transaction, engine, accountId);
      refuseSuspended(locked);
      return {
        async planOfKey(otherwise, at) {
          let account = accountAt(locked, at);
          if (!hasPlan(account, at)) {
            const granting = { transaction, engine, account, at, id: `grant_${randomUUID()}` };
            account = await grantPlan({ ...granting, terms: otherwise, resumes: true });
            const line = { subject: accountId, at, action: 'plan.granted', to: otherwise.planId } as const;
            await writeAudit(transaction, { ...line, actor: 'gateway' });
          }
          const shared = await budgetIdsOf(transaction, [{ scope: 'account', subject: accountId }]);
          const furtherBudgets = shared.length === 0 ? null : JSON.stringify(shared);
          const { id, grants, ...columns } = account;
          const own = { furtherBudgets, ownLimits: null, groupName: null, priority: null, expiresAt: null };
          return { ...columns, accountId: id, grants: grants ?? '[]', ...own };
        },
        addBudgets: (keyId, budgets, createdAt) => addKeyBudgets(transaction, keyId, budgets, { accountId, createdAt }),
      };
    },
  };
}
