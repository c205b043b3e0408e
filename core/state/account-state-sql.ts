import type { AccountState } from './accounts/account-state.js';
import { type AccountsOptions, createAccounts } from './accounts/accounts-sql.js';
import { createDeviceGrants } from './accounts/device-grants-sql.js';
import { createSessions } from './accounts/sessions-sql.js';
import { createSignIns } from './accounts/sign-ins-sql.js';
import { createUsers } from './accounts/users-sql.js';
import { createAudit } from './audit/audit-sql.js';
import { createOrders } from './payments/orders-sql.js';

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
