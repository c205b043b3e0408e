import type { Migration } from './kysely.js';
import { type Kysely, PostgresAdapter, sql } from './kysely.js';
import type { Tables } from './tables.js';

/**
 * Those who serve wait that long for a migration that has not begun; less than they have for a statement, and less than
 * `deadlock_timeout`, so that it is the migration that gives way.
 */
const LOCK_MS = 500;

export interface SchemaChange extends Migration {
  /** Tables of earlier migrations that it changes on PostgreSQL. They are locked before anything is done. Default: none. */
  readonly changes?: readonly (keyof Tables)[];
}

/** By their names, in whose order they run. Each folder that owns tables may have a list of its own. */
export type Migrations = Readonly<Record<string, SchemaChange>>;

/**
 * The migrations; on PostgreSQL each takes the tables that it and those behind it change, before it does anything. Nodes that
 * serve hold some of them at any time: taken one by one, and for ever more, the locks would end in deadlocks. Where others
 * hold one for long, the transaction fails with 55P03.
 */
export function migrationsWithLocks(migrations: Migrations): Record<string, Migration> {
  const names = Object.keys(migrations).sort();
  return Object.fromEntries(
    names.map((name, index) => {
      const tables = new Set(names.slice(index).flatMap((later) => migrations[later]?.changes ?? []));
      return [name, { up: (transaction) => lockThenRun(transaction, tables, migrations[name]) } satisfies Migration];
    }),
  );
}

async function lockThenRun(
  transaction: Kysely<unknown>,
  tables: ReadonlySet<string>,
  change: SchemaChange | undefined,
): Promise<void> {
  if (transaction.getExecutor().adapter instanceof PostgresAdapter) await lock(transaction, tables);
  await change?.up(transaction);
}

async function lock(transaction: Kysely<unknown>, tables: ReadonlySet<string>): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${LOCK_MS}ms`}, true)`.execute(transaction);
  // Those that a migration of the same transaction is still to make are nobody else's.
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...tables]}::text[]) as name where to_regclass(name) is not null order by name`.execute(
    transaction,
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => sql.table(name));
  await sql`lock table ${sql.join(names)} in access exclusive mode`.execute(transaction);
}
