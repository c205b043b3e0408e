/*
 * Which account made which stored response and which output item, and which responses run in the background, in SQL.
 * Rows of new responses are written in batches behind the request; until then they are found in memory, so the next
 * request of the client finds them. If the database is unavailable, at most 10,000 rows wait and the oldest are
 * dropped, which the log reports; those responses are not found again, nor those of a process that dies first.
 * Responses in the background have rows of another table, which the settlement of their request writes in its
 * transaction. These are due rows: one process polls each, and the wait between polls doubles up to a maximum.
 */

import type {
  BackgroundResponses,
  Logger,
  StoredItem,
  StoredResponse,
  StoredResponses,
} from '../../core/contracts/index.js';
import {
  createRowInsertScript,
  type Database,
  type DatabaseClock,
  dueRows,
  isStorable,
  type Migrations,
  sql,
  sqlMigration,
  WriteBehind,
} from '../../core/database/index.js';
import type { Admissions } from '../usage/index.js';

/** Maximum rows of a table that wait for the database; beyond that, the oldest are dropped. */
const CAPACITY = 10_000;

export interface ClosableStoredResponses extends Required<StoredResponses> {
  /** Those of the output items that this owner's responses do not have. */
  unknownItems(ids: readonly string[], owner: string): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

/** Stored responses and the ids of their output items in SQL. */
export function createStoredResponses(database: Database, logger: Logger): ClosableStoredResponses {
  const responses = createLateRows<StoredResponse>({ database, table: 'stored_responses', logger });
  const items = createLateRows<StoredItem>({ database, table: 'response_items', logger });

  return {
    remember: (response) => responses.add(response),
    rememberItem(item) {
      if (isStorable(item.id)) items.add(item);
    },
    async flushInTime() {
      await Promise.all([responses.flushInTime(), items.flushInTime()]);
    },
    async find(id, owner) {
      const known = responses.get(id, owner);
      if (known) return known;
      if (!isStorable(id)) return undefined;
      return database.run((queries) =>
        queries
          .selectFrom('stored_responses')
          .selectAll()
          .where('id', '=', id)
          .where('owner', '=', owner)
          .executeTakeFirst(),
      );
    },
    async unknownItems(ids, owner) {
      const unknown = new Set(ids.filter((id) => !items.get(id, owner)));
      const wanted = [...unknown].filter(isStorable);
      if (wanted.length === 0) return unknown;
      const rows = await database.run((queries) =>
        queries
          .selectFrom('response_items')
          .select('id')
          .where('owner', '=', owner)
          .where('id', 'in', wanted)
          .execute(),
      );
      for (const { id } of rows) unknown.delete(id);
      return unknown;
    },
    async forget(id, owner) {
      await responses.forget(id, owner);
      await database.run((queries) =>
        queries.deleteFrom('stored_responses').where('id', '=', id).where('owner', '=', owner).execute(),
      );
    },
    async close() {
      await Promise.all([responses.close(), items.close()]);
    },
  };
}

interface LateRowsOptions {
  database: Database;
  table: 'stored_responses' | 'response_items';
  logger: Logger;
}

/** Rows that are written in batches; until then they are found here. */
function createLateRows<Row extends StoredItem>({ database, table, logger }: LateRowsOptions) {
  const name = table.replace('_', ' ');
  const insert = createRowInsertScript({
    queries: database.queries,
    table,
    finish: (rows) => rows.onConflict((conflict) => conflict.doNothing()),
  });
  /** Not in the database yet. */
  const fresh = new Map<string, Row>();

  function drop(row: Row): void {
    const known = nameOf(row);
    if (fresh.get(known) === row) fresh.delete(known);
  }

  const writing = new WriteBehind<Row>({
    database,
    name,
    capacity: CAPACITY,
    evict(waiting) {
      const excess = Math.ceil(waiting.length / 10);
      for (const row of waiting.slice(0, excess)) drop(row);
      logger.warn(`${name} will not be found again`, { count: excess });
      return waiting.slice(excess);
    },
    *write(rows) {
      const wanted = rows.filter((row) => fresh.get(nameOf(row)) === row);
      yield* insert(wanted.map((row) => ({ ...row, createdAt: Math.floor(row.createdAt) })));
    },
    done: (rows) => rows.forEach(drop),
    logger,
  });

  return {
    add(row: Row): void {
      fresh.set(nameOf(row), row);
      writing.push(row);
    },
    get: (id: string, owner: string) => fresh.get(nameOf({ id, owner })),
    async forget(id: string, owner: string): Promise<void> {
      fresh.delete(nameOf({ id, owner }));
      // A row that is being written now will be in the database.
      await writing.tried();
    },
    flushInTime: () => writing.flushInTime(),
    close: () => writing.close(),
  };
}

function nameOf({ id, owner }: Pick<StoredItem, 'id' | 'owner'>): string {
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
    response_items: StoredItem;
  }
}

/** The tables of the stored responses and of their output items. */
export const responseMigrations: Migrations = {
  '0001-responses': sqlMigration(
    `create table stored_responses (
      id text not null, owner text not null, model text not null, upstream text not null, "createdAt" bigint not null,
      primary key (id, owner))`,
    `create index stored_responses_created_at on stored_responses ("createdAt")`,
    // For exports and erasures.
    `create index stored_responses_owner on stored_responses (owner, id)`,
    `create table response_items (
      id text not null, owner text not null, "createdAt" bigint not null, primary key (owner, id))`,
    `create index response_items_created_at on response_items ("createdAt")`,
  ),
};
