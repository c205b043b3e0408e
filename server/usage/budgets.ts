import type { Database, DatabaseClock } from '../../core/database/index.js';
import { atTime, toBudgetRow, toBudgetState } from './budget-account.js';

/** What a key may still use of a plan, over all keys that share it (a rotated key goes on with the budget of the old one). */
export interface Budget {
  id: string;
  accountId: string;
  planId: string;
  /** Tokens in and out together; null is unlimited. */
  tokenLimit: number | null;
  /** Tokens of one day by UTC; null is unlimited. */
  dailyTokenLimit: number | null;
  /** Accepted model requests; null is unlimited. */
  requestLimit: number | null;
  /** When what was used is forgotten. Default `never`. */
  resets: 'never' | 'month' | 'day';
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  createdAt: number;
}

/** As a budget stands. Used and reserved are of the running period. */
export interface BudgetState extends Budget {
  tokensUsed: number;
  /** Held for requests that are under way. */
  tokensReserved: number;
  requestsUsed: number;
  tokensUsedToday: number;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Budgets {
  create(budget: Budget): Promise<void>;
  find(id: string): Promise<BudgetState | undefined>;
}

/** Budgets in SQL. What requests take of them is written by admissions. */
export function createBudgets(database: Database, clock: DatabaseClock): Budgets {
  return {
    async create(budget) {
      await database.run((queries) => queries.insertInto('budgets').values(toBudgetRow(budget)).execute());
    },

    async find(id) {
      return database.run(async (queries) => {
        const row = await queries.selectFrom('budgets').selectAll().where('id', '=', id).executeTakeFirst();
        return row && toBudgetState(atTime(row, await clock.read(queries)));
      });
    },
  };
}
