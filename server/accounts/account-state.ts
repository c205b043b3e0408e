import type { Audit } from '../audit/index.js';
import type { Orders } from '../payments/index.js';
import type { Accounts } from './accounts.js';
import type { DeviceGrants } from './device-grants.js';
import type { Sessions } from './session-store.js';
import type { SignIns } from './sign-ins.js';
import type { Users } from './users.js';

/** What the gateway remembers of people: who they are, that they are signed in, what they bought. */
export interface AccountState {
  readonly users: Users;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
  readonly deviceGrants: DeviceGrants;
  readonly orders: Orders;
  readonly audit: Audit;
}
