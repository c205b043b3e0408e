import type { Database } from '../../database/index.js';
import type { JobClock } from '../../jobs/job-clock.js';
import { atTime, toBudgetRow, toBudgetState } from './budget-account.js';
import type { Budgets } from './budgets.js';

/** Budgets in SQL. What requests take of them is written by admissions. */
export function createBudgets(database: Database, clock: JobClock): Budgets {
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
