import type { BackgroundResponses, Logger, StoredResponse, StoredResponses } from '../../core/contracts/index.js';
import {
  createRowInsertScript,
  createWriteBehind,
  type Database,
  type DatabaseClock,
  dueRows,
  isStorable,
  type Migrations,
  sql,
  sqlMigration,
} from '../../core/database/index.js';
import type { Admissions } from '../usage/index.js';

/** Maximum responses that wait for the database; beyond that, the oldest are dropped. */
const CAPACITY = 10_000;

export interface ClosableStoredResponses extends StoredResponses {
  close(): Promise<void>;
}

/** Stored responses in SQL. */
export function createStoredResponses(database: Database, logger: Logger): ClosableStoredResponses {
  /** Not in the database yet. */
  const fresh = new Map<string, StoredResponse>();
  const insert = createRowInsertScript({
    queries: database.queries,
    table: 'stored_responses',
    sample: { id: '', owner: '', model: '', upstream: '', createdAt: 0 },
    finish: (rows) => rows.onConflict((conflict) => conflict.doNothing()),
  });

  function forgetFresh(response: StoredResponse): void {
    const name = nameOf(response);
    if (fresh.get(name) === response) fresh.delete(name);
  }

  const writing = createWriteBehind<StoredResponse>({
    database,
    name: 'stored responses',
    capacity: CAPACITY,
    evict(waiting) {
      const excess = Math.ceil(waiting.length / 10);
      for (const response of waiting.slice(0, excess)) forgetFresh(response);
      logger.warn('responses will not be found again', { count: excess });
      return waiting.slice(excess);
    },
    *write(responses) {
      const wanted = responses.filter((response) => fresh.get(nameOf(response)) === response);
      yield* insert(wanted.map((response) => ({ ...response, createdAt: Math.floor(response.createdAt) })));
    },
    done: (responses) => responses.forEach(forgetFresh),
    logger,
  });

  return {
    remember(response) {
      fresh.set(nameOf(response), response);
      writing.push(response);
    },
    flushInTime: () => writing.flushInTime(),
    async find(id, owner) {
      const known = fresh.get(nameOf({ id, owner }));
      if (known) return known;
      if (!isStorable(id)) return undefined;
      const row = await database.run((queries) =>
        queries
          .selectFrom('stored_responses')
          .selectAll()
          .where('id', '=', id)
          .where('owner', '=', owner)
          .executeTakeFirst(),
      );
      return row;
    },
    async forget(id, owner) {
      fresh.delete(nameOf({ id, owner }));
      // A response that is being written now will be in the database.
      await writing.tried();
      await database.run((queries) =>
        queries.deleteFrom('stored_responses').where('id', '=', id).where('owner', '=', owner).execute(),
      );
    },
    close: () => writing.close(),
  };
}

function nameOf({ id, owner }: Pick<StoredResponse, 'id' | 'owner'>): string {
  return `${owner}\n${id}`;
}

export interface BackgroundResponsesOptions {
  database: Database;
  times: DatabaseClock;
  /** Statements that count them. */
  admissions: Pick<Admissions, 'correct' | 'flushInTime'>;
}

/** Background responses in SQL. */
export function createBackgroundResponses(options: BackgroundResponsesOptions): BackgroundResponses {
  const { database, times, admissions } = options;
  const due = dueRows(database.engine, {
    table: 'background_responses',
    key: ['id', 'accountId'],
    dueAt: 'dueAt',
  });

  return {
    async isOpen(responseId, owner) {
      if (!isStorable(responseId)) return false;
      const row = await database.run((queries) =>
        queries
          .selectFrom('background_responses')
          .select('id')
          .where('id', '=', responseId)
          .where('accountId', '=', owner)
          .executeTakeFirst(),
      );
      return row !== undefined;
    },

    async takeDue(max, { firstMs, lastMs }) {
      return database.run(async (queries) => {
        const now = await times.read(queries);
        if (!(await due.isAny(queries, now))) return [];
        const wait = sql<number>`case when "waitMs" = 0 then cast(${firstMs} as bigint)
          when "waitMs" * 2 > ${lastMs} then cast(${lastMs} as bigint) else "waitMs" * 2 end`;
        const rows = await queries
          .updateTable('background_responses')
          .set({ waitMs: wait, dueAt: sql<number>`cast(${now} as bigint) + ${wait}` })
          .where(due.first({ now, max }))
          .returningAll()
          .execute();
        return rows.map(({ id, accountId: owner, model, upstream, at, waitMs }) => ({
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

declare module '../../core/database/tables.js' {
  interface Tables {
    stored_responses: StoredResponse;
  }
}

/** The table of the stored responses. */
export const responseMigrations: Migrations = {
  '0001-responses': sqlMigration(
    `create table stored_responses (
      id text not null, owner text not null, model text not null, upstream text not null, "createdAt" bigint not null,
      primary key (id, owner))`,
    `create index stored_responses_created_at on stored_responses ("createdAt")`,
    // For exports and erasures.
    `create index stored_responses_owner on stored_responses (owner, id)`,
  ),
};
