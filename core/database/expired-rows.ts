import type { Engine } from './database.js';
import { type Kysely, sql } from './kysely.js';
import type { Tables } from './tables.js';

/** Of one statement: whoever adds a row deletes more than one, so that old ones cannot heap up. */
const ROWS = 100;

export interface ExpiringTable {
  engine: Engine;
  /** Has a column `expires_at`. */
  table: keyof Tables;
  /** Its primary key. */
  key: string;
}

/** Deletes some of the rows whose time was over before `at`; those that somebody else deletes are left to them. */
export async function deleteExpired(queries: Kysely<Tables>, table: ExpiringTable, at: number): Promise<void> {
  await deleteSome(queries, table, sql`where expires_at <= ${at} order by expires_at limit ${ROWS}`);
}

/** Deletes some of the rows beyond the latest so many. */
export async function deleteBeyond(queries: Kysely<Tables>, table: ExpiringTable, most: number): Promise<void> {
  await deleteSome(queries, table, sql`order by expires_at desc limit ${ROWS} offset ${most}`);
}

async function deleteSome(
  queries: Kysely<Tables>,
  { engine, table, key }: ExpiringTable,
  which: ReturnType<typeof sql>,
): Promise<void> {
  const [name, id] = [sql.table(table), sql.ref(key)];
  const lock = engine === 'postgres' ? sql`for update skip locked` : sql``;
  await sql`delete from ${name} where ${id} in (select ${id} from ${name} ${which} ${lock})`.execute(queries);
}
