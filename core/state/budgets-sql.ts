import { sql } from 'kysely';
import { GatewayError } from '../errors.js';
import { atTime, toBudgetRow, toBudgetState } from './budget-account.js';
import type { Budgets } from './budgets.js';
import type { Database } from './database.js';
import type { JobClock } from './job-clock.js';

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

    async extend(id, { tokens, requests, expiresAt }) {
      const { numUpdatedRows } = await database.run((queries) =>
        queries
          .updateTable('budgets')
          .set({
            // Null plus anything is null: what is unlimited stays so.
            token_limit: sql<number>`token_limit + ${tokens}`,
            request_limit: sql<number>`request_limit + ${requests}`,
            expires_at:
              expiresAt === null
                ? null
                : sql<number>`case when expires_at < ${expiresAt} then ${expiresAt} else expires_at end`,
          })
          .where('id', '=', id)
          .executeTakeFirstOrThrow(),
      );
      if (numUpdatedRows === 0n) throw new GatewayError('invalid_value', 'There is no such budget.', { param: 'id' });
    },
  };
}
