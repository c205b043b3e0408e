import type { BackgroundResponses } from '../../core/contracts/index.js';
import type { Database, DatabaseClock } from '../../core/database/index.js';
import { dueRows, isStorable, sql } from '../../core/database/index.js';
import type { Admissions } from '../usage/index.js';

export interface BackgroundResponsesOptions {
  database: Database;
  times: DatabaseClock;
  /** What counts them. */
  admissions: Pick<Admissions, 'correct' | 'flushInTime'>;
}

/** Responses in the background, in SQL. */
export function createBackgroundResponses(options: BackgroundResponsesOptions): BackgroundResponses {
  const { database, times, admissions } = options;
  const due = dueRows(database.engine, {
    table: 'background_responses',
    key: ['id', 'account_id'],
    dueAt: 'due_at',
  });

  return {
    async isOpen(responseId, owner) {
      if (!isStorable(responseId)) return false;
      const row = await database.run((queries) =>
        queries
          .selectFrom('background_responses')
          .select('id')
          .where('id', '=', responseId)
          .where('account_id', '=', owner)
          .executeTakeFirst(),
      );
      return row !== undefined;
    },

    async takeDue(most, { firstMs, lastMs }) {
      return database.run(async (queries) => {
        const now = await times.read(queries);
        if (!(await due.isAny(queries, now))) return [];
        const wait = sql<number>`case when wait_ms = 0 then cast(${firstMs} as bigint)
          when wait_ms * 2 > ${lastMs} then cast(${lastMs} as bigint) else wait_ms * 2 end`;
        const rows = await queries
          .updateTable('background_responses')
          .set({ wait_ms: wait, due_at: sql<number>`cast(${now} as bigint) + ${wait}` })
          .where(due.first({ now, most }))
          .returningAll()
          .execute();
        return rows.map(({ id, account_id: owner, model, upstream, at, wait_ms: waitMs }) => ({
          id,
          owner,
          model,
          upstream,
          ageMs: now - at,
          waitMs,
        }));
      });
    },

    correct: (correction) => admissions.correct(correction),
    flushInTime: () => admissions.flushInTime(),
  };
}
