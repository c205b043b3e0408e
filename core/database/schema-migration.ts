/*
 * Applies the migrations of all folders in one transaction, so a failure leaves the schema as it was. Concurrent
 * processes wait for the first one, and nothing is locked if nothing is pending. On PostgreSQL the changed tables are
 * locked before the first change, with a short lock timeout: the migration gives up and tries again instead of
 * deadlocking with serving nodes. A schema of a newer release is accepted, unless one of its migrations removed what
 * this release reads.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/index.js';
import { createThrottledWarning, GatewayError } from '../runtime/index.js';
import { describeMigrationFailure, isServerLock, isSqliteLock } from './database-errors.js';
import { type Kysely, type Migration, Migrator, PostgresAdapter, sql } from './kysely.js';
import type { Tables } from './tables.js';

/** The migrations that a database has applied, by name and in order. */
export interface SchemaStatus {
  done: readonly string[];
  /** Migrations of this release that the database has not applied. */
  pending: readonly string[];
  /** Migrations of a newer release that this release is compatible with. */
  newer: readonly string[];
}

interface MigrationRow {
  kysely_migration: { name: string };
}

/** A migration may rewrite a table, or wait for another process that does. */
export const MIGRATION_STATEMENT_MS = 600_000;
const RETRY_MS = 200;
/** Each attempt blocks serving processes, so there is a pause in between. */
const SERVER_RETRY_MS = 3_000;
const TABLE = 'kysely_migration';
/** Suffix of a migration that removes what the releases before the named migration read. */
const NEEDS = /-needs-(\d{4})$/;

/** The status of a database that does not exist yet. */
export function allPending(migrations: Migrations): SchemaStatus {
  return { done: [], pending: Object.keys(migrations).sort(), newer: [] };
}

/**
 * Read only.
 * @throws GatewayError `invalid_value` if a newer release has left a schema that this one cannot use.
 */
export async function readSchemaStatus(queries: Kysely<Tables>, migrations: Migrations): Promise<SchemaStatus> {
  const done = await namesDone(queries);
  const known = Object.keys(migrations).sort();
  const newer = done.filter((name) => !known.includes(name));
  refuseForeign(newer, known);
  return { done, pending: known.filter((name) => !done.includes(name)), newer };
}

/**
 * Applies pending migrations in one transaction. Concurrent processes wait for the first one; if nothing is pending, no
 * lock is taken.
 * @param logger Logs if other processes keep the tables locked.
 * @returns The names of the migrations that this call applied.
 * @throws GatewayError `upstream_unavailable` if the database is full, or its user lacks permission; then nothing was
 *   changed.
 */
export async function migrate(queries: Kysely<Tables>, migrations: Migrations, logger?: Logger): Promise<string[]> {
  const deadline = performance.now() + MIGRATION_STATEMENT_MS;
  const warn =
    logger && createThrottledWarning(logger, 'the schema is not up to date yet: other sessions use its tables');
  for (;;) {
    const status = await readSchemaStatus(queries, migrations);
    const { pending, newer } = status;
    if (pending.length === 0) return [];
    const { error, results = [] } = await createMigrator(queries, migrations, newer).migrateToLatest();
    if (!error) return results.map(({ migrationName }) => migrationName);
    // SQLite's lock timeout is much shorter than a migration of another process may take.
    const isBusy = isServerLock(error);
    const mayPass =
      isBusy || isSqliteLock(error) || (await readSchemaStatus(queries, migrations)).newer.length > newer.length;
    if (!mayPass || performance.now() > deadline) throw describeMigrationFailure(error, status);
    if (isBusy) warn?.(error);
    await sleep(isBusy ? SERVER_RETRY_MS : RETRY_MS);
  }
}

/** The package treats an unknown migration as damage, so those of newer releases are registered with it. */
function createMigrator(queries: Kysely<Tables>, migrations: Migrations, newer: readonly string[]): Migrator {
  const passed = Object.fromEntries(newer.map((name) => [name, { up: async () => undefined }]));
  return new Migrator({
    db: queries,
    provider: { getMigrations: async () => ({ ...migrationsWithLocks(migrations), ...passed }) },
  });
}

async function namesDone(queries: Kysely<Tables>): Promise<string[]> {
  const tables = await queries.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === TABLE)) return [];
  const rows = await (queries as unknown as Kysely<MigrationRow>)
    .selectFrom(TABLE)
    .select('name')
    .orderBy('name')
    .execute();
  return rows.map(({ name }) => name);
}

function refuseForeign(newer: readonly string[], known: readonly string[]): void {
  const latest = known.at(-1) ?? '';
  const last = latest.slice(0, 4);
  const blocking = newer.find((name) => (NEEDS.exec(name)?.[1] ?? '') > last);
  if (blocking === undefined) return;
  throw new GatewayError(
    'invalid_value',
    `A newer release migrated the database to ${newer.at(-1)}; this release (${latest}) cannot use it. Start that release or one between the two.`,
    { param: 'databaseUrl' },
  );
}

/**
 * How long serving processes wait for a migration that has not begun; less than their statement timeout, and less than
 * `deadlock_timeout`, so that the migration gives up first.
 */
const LOCK_MS = 500;

export interface SchemaChange extends Migration {
  /**
   * Tables of earlier migrations that it changes on PostgreSQL. They are locked before anything is done. Default: none.
   */
  readonly changes?: readonly string[];
}

/**
 * Migrations by name. A name begins with the number of the release's schema and determines the order: `0001-jobs`. Each
 * folder that owns tables exports its own list.
 */
export type Migrations = Readonly<Record<string, SchemaChange>>;

/**
 * A migration with statements for both engines, or functions of the engine. Columns are camelCase, so they are quoted:
 * "createdAt".
 */
export function sqlMigration(
  ...statements: readonly (string | ((engine: 'sqlite' | 'postgres') => string))[]
): SchemaChange {
  return {
    async up(queries) {
      const engine = queries.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';
      for (const statement of statements) {
        await sql.raw(typeof statement === 'string' ? statement : statement(engine)).execute(queries);
      }
    },
  };
}

/**
 * The migrations. On PostgreSQL each one first locks the tables that it and later ones change. Serving nodes hold some
 * of the locks at any time: taken one by one, the locks would deadlock. If another process holds one for long, the
 * transaction fails with 55P03.
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
  // Tables that a migration of the same transaction creates are not visible to others.
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...tables]}::text[]) as name where to_regclass(name) is not null order by name`.execute(
    transaction,
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => sql.table(name));
  await sql`lock table ${sql.join(names)} in access exclusive mode`.execute(transaction);
}
