import type { AccountState } from './account-state.js';
import { type AccountsOptions, createAccounts } from './accounts-sql.js';
import { createAudit } from './audit-sql.js';
import { createDeviceGrants } from './device-grants-sql.js';
import { createOrders } from './orders-sql.js';
import { createSessions } from './sessions-sql.js';
import { createSignIns } from './sign-ins-sql.js';
import { createUsers } from './users-sql.js';

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
