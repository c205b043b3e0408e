import { chmod, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import type { InstantScripts } from './database.js';
import { isSqliteLock } from './database-errors.js';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type InsertQueryNode,
  OrActionNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from './kysely.js';
import { SYNC_ALWAYS, SYNC_LATER } from './sqlite-copy.js';
import { playAtOnce, type Script } from './statements.js';

/** How long another process may hold the write lock before callers are told so. */
const LOCK_PATIENCE_MS = 2_000;
const LOCK_RETRY_MS = 10;
/** Of 4 KiB. A checkpoint holds up the commit it comes with, and few large ones take less time than many (default: 1,000). */
const CHECKPOINT_PAGES = 8_000;
/**
 * Share of the file that is kept in memory, and kilobytes of it at least and at most. Of a million jobs each touches pages that
 * no other does; of a small file the pages that are touched are few, and the rest would only be held.
 */
const CACHED_SHARE = 1 / 8;
const LEAST_CACHE_KB = 8_192;
const MOST_CACHE_KB = 65_536;
const NO_ROWS: readonly unknown[] = [];
/** More than the gateway has, though those with lists come in as many forms as their lists have lengths. */
const MAX_STATEMENTS = 1_000;

/**
 * SQLite in a file that only its owner can read. Unlike Kysely's own dialect this one begins transactions with the write
 * lock (two writers then wait for each other instead of failing half-way), waits for that lock without holding up the
 * event loop, and keeps its prepared statements.
 */
export async function openSqlite(file: string): Promise<{ dialect: Dialect; scripts: InstantScripts }> {
  const { default: Sqlite } = await import('better-sqlite3');
  // SQLite would make the file readable for all; its companions (-wal, -shm) take over the mode found here.
  const handle = await open(file, 'a', 0o600);
  await handle.close();
  await chmod(file, 0o600);
  const sqlite = new Sqlite(file, { timeout: LOCK_PATIENCE_MS });
  try {
    await writeAheadLog(sqlite);
    sqlite.exec(SYNC_ALWAYS.sql);
    sqlite.pragma('foreign_keys = ON');
    sqlite.pragma(`cache_size = -${cacheKilobytes(sqlite)}`);
    sqlite.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    // From here on locks are waited for in SqliteConnection, which leaves the thread free.
    sqlite.pragma('busy_timeout = 0');
  } catch (error) {
    sqlite.close();
    throw error;
  }
  const connection = new SqliteConnection(sqlite);
  const dialect: Dialect = {
    createAdapter: () => new LockingSqliteAdapter(),
    createDriver: () => new SqliteDriver(sqlite, connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new RollingBackQueryCompiler(),
  };
  return { dialect, scripts: connection };
}

/** SQLite answers "locked" to this at once, whatever the timeout, while another process does the same to a new file. */
async function writeAheadLog(sqlite: BetterSqlite3.Database): Promise<void> {
  const started = performance.now();
  for (;;) {
    try {
      sqlite.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isSqliteLock(error) || performance.now() - started >= LOCK_PATIENCE_MS) throw error;
      await sleep(LOCK_RETRY_MS);
    }
  }
}

/** By the size of the file as it is now. */
function cacheKilobytes(sqlite: BetterSqlite3.Database): number {
  const [pages, pageBytes] = ['page_count', 'page_size'].map((name) => Number(sqlite.pragma(name, { simple: true })));
  const wanted = Math.round(((pages ?? 0) * (pageBytes ?? 0) * CACHED_SHARE) / 1_024);
  return Math.min(MOST_CACHE_KB, Math.max(LEAST_CACHE_KB, wanted));
}

class LockingSqliteAdapter extends SqliteAdapter {
  /** True of SQLite; and with it migrations run inside one transaction, whose lock keeps a second process waiting. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * A row that cannot be inserted ends the transaction, as it does on PostgreSQL. So as to undo the statement alone, SQLite would
 * copy each page that an insert of several rows changes to a file of its own: a fifth of the time that a group of jobs takes.
 */
class RollingBackQueryCompiler extends SqliteQueryCompiler {
  protected override visitInsertQuery(node: InsertQueryNode): void {
    super.visitInsertQuery({ ...node, orAction: node.orAction ?? OrActionNode.create('rollback') });
  }
}

class SqliteDriver implements Driver {
  readonly #sqlite: BetterSqlite3.Database;
  readonly #connection: SqliteConnection;

  constructor(sqlite: BetterSqlite3.Database, connection: SqliteConnection) {
    this.#sqlite = sqlite;
    this.#connection = connection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await this.#connection.run('begin immediate', []);
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.run('commit', []);
  }

  async rollbackTransaction(): Promise<void> {
    // A full disk has SQLite roll back by itself.
    if (this.#sqlite.inTransaction) await this.#connection.run('rollback', []);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#sqlite.close();
  }
}

class SqliteConnection implements DatabaseConnection, InstantScripts {
  readonly #sqlite: BetterSqlite3.Database;
  readonly #statements = new Map<string, BetterSqlite3.Statement>();
  /** Since when the database has been found locked, in milliseconds of `performance.now()`. */
  #lockedSince: number | undefined;
  /** How the database syncs, and how it is to: changed only before something is written, since a change costs as much. */
  #synced = SYNC_ALWAYS.sql;
  #wanted = SYNC_ALWAYS.sql;

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return this.run<Row>(sql, parameters);
  }

  /**
   * Once a lock has outlasted the patience, later callers get one attempt each until it is gone: a queue of them would
   * otherwise wait its patience one after the other.
   */
  async run<Row>(sql: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    // These are only noted: that they succeed says nothing of the lock.
    if (sql === SYNC_LATER.sql || sql === SYNC_ALWAYS.sql) {
      this.#wanted = sql;
      return { rows: [] };
    }
    for (;;) {
      try {
        const result = this.#runOnce<Row>(sql, parameters);
        this.#lockedSince = undefined;
        return result;
      } catch (error) {
        if (!isSqliteLock(error)) throw error;
        this.#lockedSince ??= performance.now();
        if (performance.now() - this.#lockedSince >= LOCK_PATIENCE_MS) throw error;
        await sleep(LOCK_RETRY_MS);
      }
    }
  }

  tryRun<Result>(begin: () => Script<Result>, survives: 'process-end' | 'power-cut'): { result: Result } | undefined {
    if (this.#sqlite.inTransaction || this.#lockedSince !== undefined) return undefined;
    try {
      this.#sync(survives === 'process-end' ? SYNC_LATER.sql : SYNC_ALWAYS.sql);
      this.#prepare('begin immediate').run();
      const result = playAtOnce(begin(), ({ sql, parameters }) => {
        const statement = this.#prepare(sql);
        // One by one: to take them out of a list costs as much again as to bind them.
        if (statement.reader) return statement.all(...parameters);
        statement.run(...parameters);
        return NO_ROWS;
      });
      this.#prepare('commit').run();
      return { result };
    } catch (error) {
      // A full disk has SQLite roll back by itself.
      if (this.#sqlite.inTransaction) this.#prepare('rollback').run();
      if (isSqliteLock(error)) return undefined;
      throw error;
    }
  }

  #sync(wanted: string): void {
    if (wanted === this.#synced) return;
    this.#sqlite.exec(wanted);
    this.#synced = wanted;
  }

  #runOnce<Row>(sql: string, parameters: readonly unknown[]): QueryResult<Row> {
    const statement = this.#prepare(sql);
    if (!statement.readonly && !this.#sqlite.inTransaction) this.#sync(this.#wanted);
    if (statement.reader) return { rows: statement.all(parameters) as Row[] };
    const { changes } = statement.run(parameters);
    return { numAffectedRows: BigInt(changes), rows: [] };
  }

  #prepare(sql: string): BetterSqlite3.Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.#sqlite.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface wants a generator; nothing here streams
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('Rows are not streamed from SQLite.');
  }
}
