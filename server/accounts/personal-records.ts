/*
 * Erases and exports a user with the account. The erasure keeps what the free allowance had used under a keyed hash of
 * the identity, suspends the account, so that it accepts no key, order or plan, and deletes the user with sessions and
 * device grants. The account, its plan grants and budgets stay under random ids: they are bookkeeping.
 */

import type { Database, Tables } from '../../core/database/index.js';
import { clearNotes } from '../audit/index.js';
import {
  type ExportedFields,
  type Person,
  type PersonalRecords,
  parseJson,
  rowsOf,
  withTimes,
} from '../personal-records/index.js';
import { findAccount } from './account-plans.js';
import { keepAllowance } from './erased-allowances.js';

export const accountPersonalRecords: PersonalRecords = {
  tables: {
    accounts: 'retained',
    users: 'deleted',
    sessions: 'deleted',
    device_grants: 'deleted',
    plan_grants: 'retained',
    erased_allowances: 'retained',
  },

  async erase(transaction, { id: userId, accountId, identityHashes: hashes, engine, at }) {
    await keepAllowance({ transaction, engine, accountId, hashes, at });
    await transaction.updateTable('accounts').set({ suspendedAt: at }).where('id', '=', accountId).execute();
    await transaction.deleteFrom('sessions').where('userId', '=', userId).execute();
    await transaction.deleteFrom('device_grants').where('userId', '=', userId).execute();
    await transaction.deleteFrom('users').where('id', '=', userId).execute();
    await clearNotes(transaction, [userId, accountId]);
  },

  exported,
};

function exported(database: Database, { id: userId, accountId }: Person): ExportedFields {
  async function* sessions() {
    const rows = rowsOf(database, (queries) =>
      queries
        .selectFrom('sessions')
        .select(['kind', 'createdAt', 'lastSeenAt', 'expiresAt'])
        .where('userId', '=', userId)
        .execute(),
    );
    for await (const row of rows) yield withTimes(row);
  }

  async function* planGrants() {
    const rows = rowsOf(database, (queries) =>
      queries
        .selectFrom('plan_grants')
        .select(['id', 'terms', 'grantedAt', 'takenBackAt'])
        .where('accountId', '=', accountId)
        .orderBy('number')
        .execute(),
    );
    for await (const grant of rows) yield { ...withTimes(grant), terms: parseJson(grant.terms) };
  }

  return {
    async account() {
      const account = await database.run((queries) => findAccount(queries, accountId));
      return account && decodeAccount(account);
    },
    sessions,
    planGrants,
  };
}

function decodeAccount({ grants, models, followingPlans, balance, ...account }: Tables['accounts']) {
  return {
    ...withTimes(account),
    grants: parseJson(grants),
    models: parseJson(models),
    followingPlans: parseJson(followingPlans),
    balance: parseJson(balance),
  };
}
