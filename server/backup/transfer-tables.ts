import type { Database, Tables } from '../../core/database/index.js';
import {
  createListStatement,
  type Kysely,
  sql,
  type Transaction,
  translateDatabaseError,
} from '../../core/database/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { Progress } from './backup.js';
import { MOVED_TABLES } from './table-names.js';

/** Of two statements; jobs may have large rows, and so many of them fit into memory. */
const ROWS_AT_ONCE = 512;
/** All of it is one transaction. */
const TRANSFER_MS = 6 * 3_600_000;

type Row = Record<string, unknown>;
type AnyTables = Record<string, Row>;

export interface TransferOptions {
  /** SQLite, at this release's schema, used by nobody else. */
  from: Database;
  /** PostgreSQL, likewise; others may use it, and wait. */
  to: Database;
  signal: AbortSignal;
  report(progress: Progress): void;
}

/**
 * Copies all rows of all tables in one transaction, and counts them on both sides before it commits.
 * @returns Rows of each table.
 * @throws GatewayError `invalid_value` where the target has rows, `internal_error` where a row cannot be copied.
 */
export async function transferTables({ from, to, signal, report }: TransferOptions): Promise<Record<string, number>> {
  const counts = await from.run(countRows);
  await to.transaction(
    async (transaction) => {
      const names = sql.join(MOVED_TABLES.map((name) => sql.table(name)));
      // Whoever would write meanwhile waits for the end, also a second transfer.
      await sql`lock table ${names} in share row exclusive mode`.execute(transaction);
      await refuseRows(transaction);
      for (const table of MOVED_TABLES) {
        await moveTable(table, { from, transaction, of: counts[table] ?? 0, signal, report });
      }
      report({ step: 'counting', done: 0 });
      const arrived = await countRows(transaction);
      for (const table of MOVED_TABLES) {
        if (arrived[table] === counts[table]) continue;
        const message = `Of ${counts[table]} rows of ${table}, ${arrived[table]} arrived; nothing was kept.`;
        throw new GatewayError('internal_error', message);
      }
    },
    { patienceMs: TRANSFER_MS },
  );
  // Without statistics the server plans its first queries as if the tables were empty.
  for (const table of MOVED_TABLES) {
    await to.run((queries) => sql`analyze ${sql.table(table)}`.execute(queries), { patienceMs: TRANSFER_MS });
  }
  return counts;
}

/** @throws GatewayError `invalid_value` where there is anything already. */
export async function refuseRows(queries: Kysely<Tables>): Promise<void> {
  const counts = await countRows(queries);
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  if (found.length === 0) return;
  const held = found.map(([table, count]) => `${table} (${count})`).join(', ');
  throw new GatewayError('invalid_value', `The database of DATABASE_URL is not empty; it has rows in ${held}.`, {
    param: 'databaseUrl',
  });
}

async function countRows(queries: Kysely<Tables>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of MOVED_TABLES) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(queries);
    counts[table] = Number(rows[0]?.count);
  }
  return counts;
}

interface Move {
  from: Database;
  transaction: Transaction<Tables>;
  of: number;
  signal: AbortSignal;
  report(progress: Progress): void;
}

async function moveTable(table: keyof Tables, { from, transaction, of, signal, report }: Move): Promise<void> {
  let insert: ReturnType<typeof createInsert> | undefined;
  const key = await keyOfTable(from, table);
  let last: Row | undefined;
  for (let done = 0; ; ) {
    signal.throwIfAborted();
    report({ step: table, done, of });
    const rows = await readRows(from, table, key, last);
    if (rows.length === 0) return;
    insert ??= createInsert(transaction, table, Object.keys(rows[0] ?? {}));
    try {
      await insert(rows);
    } catch (error) {
      throw describeFailure(error, table, done);
    }
    last = rows.at(-1);
    done += rows.length;
  }
}

/** Columns of its primary key; every table has one. */
async function keyOfTable(from: Database, table: string): Promise<string[]> {
  const { rows } = await from.run((queries) =>
    sql<{ name: string }>`select name from pragma_table_info(${table}) where pk > 0 order by pk`.execute(queries),
  );
  return rows.map(({ name }) => name);
}

/** In the order of their key, behind the row that was read last. */
async function readRows(
  from: Database,
  table: string,
  key: readonly string[],
  last: Row | undefined,
): Promise<readonly Row[]> {
  const columns = sql.join(key.map((name) => sql.ref(name)));
  const behind = last ? sql`where (${columns}) > (${sql.join(key.map((name) => last[name]))})` : sql``;
  const { rows } = await from.run((queries) =>
    sql<Row>`select * from ${sql.table(table)} ${behind} order by ${columns} limit ${sql.lit(ROWS_AT_ONCE)}`.execute(
      queries,
    ),
  );
  return rows;
}

function createInsert(transaction: Transaction<Tables>, table: string, columns: readonly string[]) {
  const sample = Object.fromEntries(columns.map((column) => [column, null]));
  const statement = createListStatement((length) =>
    (transaction as unknown as Kysely<AnyTables>)
      .insertInto(table)
      .values(Array.from({ length }, () => sample))
      .compile(),
  );
  return (rows: readonly Row[]) =>
    statement(
      transaction,
      rows.map((row) => columns.map((column) => row[column])),
    );
}

function describeFailure(error: unknown, table: string, done: number): unknown {
  const known = translateDatabaseError(error);
  if (isGatewayError(known) || !(error instanceof Error)) return known;
  const message = `A row of ${table}, behind the first ${done}, does not fit: ${error.message}. Nothing was kept.`;
  return new GatewayError('internal_error', message, { cause: error });
}
