/*
 * Opens SQLite in a file that only its owner can read. Transactions take the write lock at their beginning, so two
 * writers wait for each other instead of failing half-way. The wait does not block the event loop; after 2 seconds
 * callers get an error, and later ones get one attempt each until the lock is released. A script runs synchronously in
 * its own transaction if the database is free. Prepared statements are cached. The sync mode changes only before a
 * write, since a change costs as much as one.
 */

import { chmod, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import type { SyncScripts } from './database.js';
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
import { runScriptSync, type Script } from './statements.js';

/** How long another process may hold the write lock before callers get an error. */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_RETRY_MS = 10;
/** Pages of 4 KiB. A checkpoint delays its commit, and few large ones take less time than many (default: 1,000). */
const CHECKPOINT_PAGES = 8_000;
/**
 * Share of the file that is cached in memory, with a minimum and maximum in kilobytes. Each of a million jobs uses
 * different pages; of a small file few pages are used, and a large cache would be wasted.
 */
const CACHED_SHARE = 1 / 8;
const MIN_CACHE_KB = 8_192;
const MAX_CACHE_KB = 65_536;
const NO_ROWS: readonly unknown[] = [];
/** More statements than the gateway has, except that statements with lists have many forms. */
const MAX_STATEMENTS = 1_000;

/**
 * SQLite in a file that only its owner can read. Unlike Kysely's own dialect, this one begins transactions with the
 * write lock (two writers then wait for each other instead of failing half-way), waits for that lock without blocking
 * the event loop, and caches its prepared statements.
 */
export async function openSqlite(file: string): Promise<{ dialect: Dialect; scripts: SyncScripts }> {
  const { default: Sqlite } = await import('better-sqlite3');
  // SQLite would make the file readable for all users; its companions (-wal, -shm) use the mode found here.
  const handle = await open(file, 'a', 0o600);
  await handle.close();
  await chmod(file, 0o600);
  const sqlite = new Sqlite(file, { timeout: LOCK_TIMEOUT_MS });
  try {
    await writeAheadLog(sqlite);
    sqlite.exec(SYNC_ALWAYS.sql);
    sqlite.pragma('foreign_keys = ON');
    sqlite.pragma(`cache_size = -${cacheKilobytes(sqlite)}`);
    sqlite.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    // From here on SqliteConnection waits for locks, which leaves the thread free.
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

/** SQLite answers "locked" to this at once, without a timeout, while another process does the same to a new file. */
async function writeAheadLog(sqlite: BetterSqlite3.Database): Promise<void> {
  const started = performance.now();
  for (;;) {
    try {
      sqlite.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isSqliteLock(error) || performance.now() - started >= LOCK_TIMEOUT_MS) throw error;
      await sleep(LOCK_RETRY_MS);
    }
  }
}

/** By the current size of the file. */
function cacheKilobytes(sqlite: BetterSqlite3.Database): number {
  const [pages, pageBytes] = ['page_count', 'page_size'].map((name) => Number(sqlite.pragma(name, { simple: true })));
  const wanted = Math.round(((pages ?? 0) * (pageBytes ?? 0) * CACHED_SHARE) / 1_024);
  return Math.min(MAX_CACHE_KB, Math.max(MIN_CACHE_KB, wanted));
}

class LockingSqliteAdapter extends SqliteAdapter {
  /** SQLite supports it; migrations run inside one transaction, and its lock makes a second process wait. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * A row that cannot be inserted ends the transaction, as on PostgreSQL. To undo only the statement, SQLite would copy
 * each page that an insert of several rows changes to a separate file: a fifth of the time of a group of jobs.
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
    // On a full disk, SQLite rolls back by itself.
    if (this.#sqlite.inTransaction) await this.#connection.run('rollback', []);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#sqlite.close();
  }
}

class SqliteConnection implements DatabaseConnection, SyncScripts {
  readonly #sqlite: BetterSqlite3.Database;
  readonly #statements = new Map<string, BetterSqlite3.Statement>();
  /** Since when the database has been locked, in milliseconds of `performance.now()`. */
  #lockedSince: number | undefined;
  /** The current and the required sync mode: changed only before a write, since a change costs as much. */
  #synced = SYNC_ALWAYS.sql;
  #wanted = SYNC_ALWAYS.sql;

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return this.run<Row>(sql, parameters);
  }

  /**
   * Once a lock has lasted longer than the timeout, later callers get one attempt each until it is released: otherwise
   * a queue of them would wait one timeout after the other.
   */
  async run<Row>(sql: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    // These are only recorded: their success says nothing about the lock.
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
        if (performance.now() - this.#lockedSince >= LOCK_TIMEOUT_MS) throw error;
        await sleep(LOCK_RETRY_MS);
      }
    }
  }

  tryRun<Result>(begin: () => Script<Result>, durability: 'relaxed' | 'full'): { result: Result } | undefined {
    if (this.#sqlite.inTransaction || this.#lockedSince !== undefined) return undefined;
    try {
      this.#sync(durability === 'relaxed' ? SYNC_LATER.sql : SYNC_ALWAYS.sql);
      this.#prepare('begin immediate').run();
      const result = runScriptSync(begin(), ({ sql, parameters }) => {
        const statement = this.#prepare(sql);
        // One by one: reading them from a list costs as much again as binding them.
        if (statement.reader) return statement.all(...parameters);
        statement.run(...parameters);
        return NO_ROWS;
      });
      this.#prepare('commit').run();
      return { result };
    } catch (error) {
      // On a full disk, SQLite rolls back by itself.
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
