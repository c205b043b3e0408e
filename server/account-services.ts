import type { Clock } from 'mediagate';
import {
  type AccountView,
  createAccountView,
  createSessionDesk,
  type Identity,
  type SessionDesk,
} from './accounts/index.js';
import type { SiteAddress } from './http/index.js';
import type { Pepper } from './keys/index.js';
import type { Windows } from './limits/index.js';
import type { PaymentDesk, PaymentSecrets } from './payments/index.js';
import type { Catalogue, FreeTierPeriod } from './plans/index.js';
import type { State } from './state.js';
import type { Budgets, UsageLedger } from './usage/index.js';

/** What the account half of the server is made of. */
export interface AccountDependencies {
  state: Pick<State, 'users' | 'accounts' | 'sessions' | 'signIns' | 'deviceGrants' | 'keys' | 'orders' | 'jobs'>;
  identity: Identity;
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
  /** What new keys are hashed with. */
  pepper: Pepper;
  payments: PaymentDesk;
  /** Of those that tell of transfers. */
  paymentSecrets: PaymentSecrets;
  /** Where people reach the site. */
  site(): SiteAddress;
}

/** What routes, pages and the playground ask alike: who is signed in, and how their account stands. */
export interface AccountDesks {
  sessions: SessionDesk;
  view: AccountView;
}

export interface AccountDesksOptions {
  account: Pick<AccountDependencies, 'state' | 'site'>;
  budgets: Pick<Budgets, 'find'>;
  ledger: Pick<UsageLedger, 'totals'>;
  windows: Windows;
  /** Images of one day where a plan says nothing. Default: any number. */
  imageDailyLimit?: number;
  clock: Clock;
}

export function createAccountDesks({ account, ...options }: AccountDesksOptions): AccountDesks {
  const { state, site } = account;
  const { accounts, keys, jobs } = state;
  return {
    sessions: createSessionDesk(state.sessions, site),
    view: createAccountView({ ...options, accounts, keys, jobs }),
  };
}
