import type { Clock } from 'mediagate';
import type { ApiKeyRecord, ApiKeys } from '../keys/index.js';
import { isGood, type KeyWindows, lookAtWindows } from '../keys/index.js';
import type { Windows } from '../limits/index.js';
import type { BudgetState, Budgets, DayRange, JobCosts, UsageLedger, UsageTotal } from '../usage/index.js';
import { lookAtUsage } from '../usage/index.js';
import type { AccountRecord, Accounts } from './accounts.js';
import type { UserRecord } from './users.js';

/** A key of an account, without its secret. */
export interface OverviewKey {
  record: ApiKeyRecord;
  /** Undefined where it is not good, or has none. */
  windows: KeyWindows | undefined;
}

/** How an account stands. */
export interface AccountOverview {
  user: UserRecord;
  account: AccountRecord;
  /** What model requests of all its keys are counted against; undefined where nothing limits them. */
  budget: BudgetState | undefined;
  /** Images of today by UTC; undefined where nothing limits them. */
  images: { limit: number; used: number } | undefined;
  /** Newest first; a few that are good no longer among them. */
  keys: readonly OverviewKey[];
  range: DayRange;
  /** What its keys used in the range, by day, key, route and model; newest day first. */
  totals: readonly UsageTotal[];
}

export interface AccountViewOptions {
  accounts: Pick<Accounts, 'find'>;
  keys: Pick<ApiKeys, 'listOf'>;
  budgets: Pick<Budgets, 'find'>;
  ledger: Pick<UsageLedger, 'totals'>;
  windows: Windows;
  jobs: Pick<JobCosts, 'usedToday'>;
  /** Images of one day where the plan says nothing. Default: any number. */
  imageDailyLimit?: number;
  clock: Clock;
}

/** Looks at accounts. Takes no slot and changes nothing. */
export interface AccountView {
  account(user: UserRecord): Promise<AccountRecord>;
  /** Newest first. */
  keys(user: UserRecord): Promise<readonly ApiKeyRecord[]>;
  overview(user: UserRecord, range: DayRange): Promise<AccountOverview>;
}

export function createAccountView(options: AccountViewOptions): AccountView {
  const { accounts, keys, budgets, ledger, windows, jobs, imageDailyLimit, clock } = options;

  async function find({ accountId }: UserRecord): Promise<AccountRecord> {
    const found = await accounts.find(accountId);
    if (!found) throw new Error('a user is there without their account');
    return found;
  }

  const newestFirst = async ({ accountId }: UserRecord) => [...(await keys.listOf(accountId))].reverse();

  return {
    account: find,
    keys: newestFirst,
    async overview(user, range) {
      const { accountId } = user;
      const [account, records] = await Promise.all([find(user), newestFirst(user)]);
      const budgetId = account.plan?.budgetId ?? null;
      const [{ budget, totals }, images, looked] = await Promise.all([
        lookAtUsage({ budgets, ledger }, budgetId, { accountId, ...range }),
        imagesOf(account),
        Promise.all(records.map(look)),
      ]);
      return { user, account, budget, images, keys: looked, range, totals };
    },
  };

  async function imagesOf({ id, plan }: AccountRecord): Promise<AccountOverview['images']> {
    const limit = plan?.imageDailyLimit ?? imageDailyLimit;
    if (limit === undefined || !plan?.grants.includes('images')) return undefined;
    return { limit, used: await jobs.usedToday('image', id) };
  }

  async function look(record: ApiKeyRecord): Promise<OverviewKey> {
    return { record, windows: isGood(record, clock.now()) ? await lookAtWindows(windows, record) : undefined };
  }
}
