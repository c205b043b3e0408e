import type { Clock } from 'mediagate';
import type { AccountDependencies } from './account-routes.js';
import { type AccountView, createAccountView, createSessionDesk, type SessionDesk } from './accounts/index.js';
import type { Windows } from './limits/index.js';
import type { Budgets, UsageLedger } from './usage/index.js';

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
