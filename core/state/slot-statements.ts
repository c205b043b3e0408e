import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Engine } from './database.js';
import { DATABASE_NOW } from './job-clock.js';
import type { RateWindowsTable, Tables } from './schema.js';
import { filled, first } from './statements.js';

/** What the clocks said. */
export interface Reading {
  reader: string;
  wall: number;
  steady: number;
}

export type WindowRow = Selectable<RateWindowsTable> & { database_now: number };

export interface WindowChange extends Reading {
  time: number;
  next: number;
  tail: number;
  tailAt: number;
  lastAt: number;
}

/** Not a parameter: SQLite would plan the statement anew each time it runs. */
const ONE_ROW = sql.lit(1);

/** Every statement is built once; see statements.ts. */
export function compileSlotStatements(engine: Engine, queries: Kysely<Tables>) {
  const postgres = engine === 'postgres';
  const databaseNow = postgres ? DATABASE_NOW : sql<number>`0`;

  // The clock is read outside of the locking part: after the lock was had, not before it was waited for.
  const window = queries
    .with('locked', (part) => {
      const row = part.selectFrom('rate_windows').selectAll().where('key_id', '=', '').where('family', '=', '');
      return postgres ? row.forUpdate() : row;
    })
    .selectFrom('locked')
    .selectAll()
    .select(databaseNow.as('database_now'))
    .compile();

  const createWindow = queries
    .insertInto('rate_windows')
    .values({ key_id: '', family: '', ...EMPTY_WINDOW })
    .onConflict((conflict) => conflict.doNothing())
    .compile();

  const firstLive = queries
    .selectFrom('rate_slots')
    .select(['seq', 'at'])
    .where('key_id', '=', '')
    .where('family', '=', '')
    .where('seq', '>=', 0)
    .where('at', '>', 0)
    .orderBy('seq')
    .limit(ONE_ROW)
    .compile();

  const takenAt = queries
    .selectFrom('rate_slots')
    .select('at')
    .where('key_id', '=', '')
    .where('family', '=', '')
    .where('seq', '<=', 0)
    .orderBy('seq', 'desc')
    .limit(ONE_ROW)
    .compile();

  const saveWindow = queries
    .updateTable('rate_windows')
    .set({ time: 0, reader: '', wall: 0, steady: 0, next_seq: 0, tail_seq: 0, tail_at: 0, last_at: 0 })
    .where('key_id', '=', '')
    .where('family', '=', '')
    .compile();

  const insertSlots = queries.insertInto('rate_slots').values({ key_id: '', family: '', seq: 0, at: 0 }).compile();

  const deletePassed = queries
    .deleteFrom('rate_slots')
    .where('key_id', '=', '')
    .where('family', '=', '')
    .where('seq', '<', 0)
    .compile();

  type Runner = Transaction<Tables>;
  return {
    async window(runner: Runner, keyId: string, family: string): Promise<WindowRow | undefined> {
      return first(await runner.executeQuery(filled(window, [keyId, family])));
    },
    async createWindow(runner: Runner, keyId: string, family: string): Promise<void> {
      await runner.executeQuery(filled(createWindow, [keyId, family, ...Object.values(EMPTY_WINDOW)]));
    },
    async firstLive(runner: Runner, keyId: string, family: string, tail: number, passedAt: number) {
      return first(await runner.executeQuery(filled(firstLive, [keyId, family, tail, passedAt])));
    },
    async takenAt(runner: Runner, keyId: string, family: string, seq: number): Promise<number> {
      const row = first(await runner.executeQuery(filled(takenAt, [keyId, family, seq])));
      if (!row) throw new Error('A live slot has no row.');
      return row.at;
    },
    async saveWindow(runner: Runner, keyId: string, family: string, change: WindowChange): Promise<void> {
      const { time, reader, wall, steady, next, tail, tailAt, lastAt } = change;
      const parameters = [time, reader, wall, steady, next, tail, tailAt, lastAt, keyId, family];
      await runner.executeQuery(filled(saveWindow, parameters));
    },
    async insertSlots(runner: Runner, keyId: string, family: string, seq: number, at: number): Promise<void> {
      await runner.executeQuery(filled(insertSlots, [keyId, family, seq, at]));
    },
    async deletePassed(runner: Runner, keyId: string, family: string, tail: number): Promise<void> {
      await runner.executeQuery(filled(deletePassed, [keyId, family, tail]));
    },
  };
}

/** Read for the first time, it has seen no time go by since 1970 on the wall clock: its time then is the wall's. */
const EMPTY_WINDOW = { time: 0, reader: '', wall: 0, steady: 0, next_seq: 0, tail_seq: 0, tail_at: 0, last_at: -1 };
