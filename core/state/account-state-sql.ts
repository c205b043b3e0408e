import type { AccountState } from './accounts/index.js';
import {
  type AccountsOptions,
  createAccounts,
  createDeviceGrants,
  createSessions,
  createSignIns,
  createUsers,
} from './accounts/index.js';
import { createAudit } from './audit/index.js';
import { createOrders } from './payments/index.js';

/** What the gateway remembers of people, in SQL. */
export function createAccountState(options: AccountsOptions): AccountState {
  const { database, times } = options;
  return {
    users: createUsers(options),
    accounts: createAccounts(options),
    sessions: createSessions(database, times),
    signIns: createSignIns(database, times),
    deviceGrants: createDeviceGrants(database, times),
    orders: createOrders(options),
    audit: createAudit(database),
  };
}
