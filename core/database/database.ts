/*
 * The SQL database of the gateway, SQLite or PostgreSQL behind one interface. Every call ends within its timeout (2.4
 * s by default); a transaction whose caller has received an error is rolled back, or reported as `late` if it had
 * committed. `script` runs a generator of statements, synchronously on SQLite. `relaxed` durability survives the end
 * of the process but not a power cut, and saves the wait for the disk. Drivers are loaded on demand. Opening a
 * database migrates its schema if migrations are given.
 */

import path from 'node:path';
import type { Logger } from '../contracts/index.js';
import { endsWithin, GatewayError, type ListItem, makeFolder, SwapRemoveList, withDeadline } from '../runtime/index.js';
import { databaseUnavailable, describeOpeningFailure, translateDatabaseError } from './database-errors.js';
import { type Dialect, Kysely, sql, type Transaction } from './kysely.js';
import { MIGRATION_STATEMENT_MS, type Migrations, migrate } from './schema-migration.js';
import { SYNC_ALWAYS, SYNC_LATER } from './sqlite-copy.js';
import { runScript, type Script } from './statements.js';
import type { Tables } from './tables.js';

export type Engine = 'sqlite' | 'postgres';

/** Longer than an engine's own timeout for a lock or a statement, so that its error becomes the cause. */
export const DATABASE_TIMEOUT_MS = 2_400;
const STATEMENT_MS = 2_000;
/** Share of the timeout. */
const STATEMENT_SHARE = STATEMENT_MS / DATABASE_TIMEOUT_MS;
const CONNECTIONS = 10;
/** Name of the SQLite file in the data folder. */
export const DATABASE_FILE = 'state.sqlite';

export interface DatabaseSettings {
  dataDir: string;
  databaseUrl?: string;
  /** Statement timeout on PostgreSQL in milliseconds. Default: 5/6 of the timeout. */
  statementMs?: number;
  /**
   * Milliseconds until a caller gets an error because the database did not answer. Default {@link DATABASE_TIMEOUT_MS}.
   */
  timeoutMs?: number;
  /** Migrates the schema. Default: the schema is used as it is. */
  migrations?: Migrations;
  /** Maximum connections to a server. Default 10. */
  connections?: number;
  /** Logs if a migration has to wait. Default: none. */
  logger?: Logger;
}

export interface TimeoutOptions {
  /** Milliseconds until the caller gets an error because the database did not answer. Default: that of the database. */
  timeoutMs?: number;
}

export interface TransactionOptions extends TimeoutOptions {
  /**
   * What a committed transaction is guaranteed to survive: `relaxed`, the end of this process; `full`, a power cut as
   * well. The former is for data that is worth less than waiting for the disk; the next `full` transaction makes it as
   * safe. PostgreSQL commits both alike, since no other caller waits for the disk. Default `full`.
   */
  durability?: 'relaxed' | 'full';
}

/** End of a transaction; `late` is committed as well, although the caller had already received an error. */
export type Ending = 'committed' | 'late' | 'failed';

/** Registers a listener for the end of the transaction, called before the caller continues. It must not throw. */
export type OnEnd = (listener: (ending: Ending) => void) => void;

/**
 * The SQL database, of either engine. Every call ends in time; if the database is unavailable, locked or full it throws
 * GatewayError `upstream_unavailable`.
 */
export interface Database {
  readonly engine: Engine;
  /** Default milliseconds until a caller gets an error because the database did not answer. */
  readonly timeoutMs: number;
  /** For building and compiling queries. Execute them with `run` and `transaction`. */
  readonly queries: Kysely<Tables>;
  /** Statements outside of a transaction. */
  run<Result>(work: (queries: Kysely<Tables>) => Promise<Result>, timeout?: TimeoutOptions): Promise<Result>;
  /** Rolled back if `work` throws, or if the caller has received an error by then. */
  transaction<Result>(
    work: (transaction: Transaction<Tables>, onEnd: OnEnd) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /**
   * A transaction of only a script; SQLite runs it synchronously if it is free.
   * @param begin Creates the script; called again if a transaction is retried.
   */
  script<Result>(begin: (onEnd: OnEnd) => Script<Result>, options?: TransactionOptions): Promise<Result>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a synchronous engine adds: scripts that run without a wait. */
export interface SyncScripts {
  /**
   * Runs a script in its own transaction, synchronously. Undefined if the database is in use: then nothing was changed,
   * and the caller has to wait.
   */
  tryRun<Result>(
    begin: () => Script<Result>,
    durability: NonNullable<TransactionOptions['durability']>,
  ): { result: Result } | undefined;
}

/** A connected engine. */
interface Connected {
  queries: Kysely<Tables>;
  /** Undefined for an asynchronous engine. */
  instant?: SyncScripts;
}

/**
 * Connects and migrates the schema.
 * @throws GatewayError `invalid_value` for a URL of another kind or a schema that this release cannot use,
 *   `upstream_unavailable`.
 */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  try {
    return settings.databaseUrl === undefined
      ? await openFile(settings)
      : await openServer(settings.databaseUrl, settings);
  } catch (error) {
    throw openingFailure(error, settings);
  }
}

/**
 * A connection with a longer timeout than requests have, for reading and changing the schema. SQLite's file is created
 * if it is missing.
 * @throws What `openDatabase` throws, and what `work` throws.
 */
export async function withSchema<Result>(
  settings: DatabaseSettings,
  work: (queries: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  const { dataDir, databaseUrl } = settings;
  try {
    const { queries } =
      databaseUrl === undefined
        ? await connectFile(dataDir)
        : await connectServer(databaseUrl, { connections: 1, statementMs: MIGRATION_STATEMENT_MS });
    try {
      return await work(queries);
    } finally {
      await queries.destroy();
    }
  } catch (error) {
    throw openingFailure(error, settings);
  }
}

function openingFailure(error: unknown, { databaseUrl }: DatabaseSettings): unknown {
  const known = databaseUrl === undefined ? error : describeOpeningFailure(error, databaseUrl);
  return translateDatabaseError(known);
}

async function openFile({ dataDir, migrations, logger, timeoutMs }: DatabaseSettings): Promise<Database> {
  const connected = await connectFile(dataDir);
  const { queries } = connected;
  try {
    if (migrations) await migrate(queries, migrations, logger);
  } catch (error) {
    await queries.destroy();
    throw error;
  }
  return createDatabase('sqlite', connected, timeoutMs);
}

async function openServer(databaseUrl: string, settings: DatabaseSettings): Promise<Database> {
  const { timeoutMs, connections = CONNECTIONS, migrations, logger } = settings;
  const { statementMs = timeoutMs ? Math.ceil(timeoutMs * STATEMENT_SHARE) : STATEMENT_MS } = settings;
  if (migrations) await withSchema(settings, (queries) => migrate(queries, migrations, logger));
  return createDatabase('postgres', await connectServer(databaseUrl, { connections, statementMs }), timeoutMs);
}

async function connectFile(dataDir: string): Promise<Connected> {
  const { openSqlite } = await import('./database-sqlite.js');
  await makeFolder(dataDir);
  const { dialect, scripts } = await openSqlite(path.join(dataDir, DATABASE_FILE));
  return { queries: connect(dialect), instant: scripts };
}

async function connectServer(url: string, limits: { connections: number; statementMs: number }): Promise<Connected> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    const message = 'The database URL must start with postgres:// or postgresql://.';
    throw new GatewayError('invalid_value', message, { param: 'databaseUrl' });
  }
  const { openPostgres } = await import('./database-postgres.js');
  return { queries: connect(await openPostgres({ url, ...limits })) };
}

function connect(dialect: Dialect): Kysely<Tables> {
  return new Kysely<Tables>({ dialect });
}

/** SQLite writes as always, but the operating system decides when that reaches the disk. */
function unsynced<Result>(
  queries: Kysely<Tables>,
  work: (connection: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  return queries.connection().execute(async (connection) => {
    await connection.executeQuery(SYNC_LATER);
    try {
      return await work(connection);
    } finally {
      await connection.executeQuery(SYNC_ALWAYS);
    }
  });
}

/** Listeners for the end of one transaction. */
function collectListeners() {
  const listeners: ((ending: Ending) => void)[] = [];
  return {
    onEnd: (listener: (ending: Ending) => void): void => void listeners.push(listener),
    notify(ending: Ending): void {
      for (const listener of listeners) listener(ending);
    },
  };
}

/** A call without an answer so far. */
interface Call extends ListItem {
  result: Promise<unknown>;
}

/** Calls that each answer in time, even if their work does not: what that does later is rolled back or ignored. */
class TimedCalls {
  readonly #active = new SwapRemoveList<Call>();
  readonly #timeoutMs: number;
  #isClosed = false;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** @throws GatewayError `upstream_unavailable` if the database was closed. */
  checkOpen(): void {
    if (this.#isClosed) throw databaseUnavailable(new Error('The state has been closed.'));
  }

  async answer<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    { timeoutMs = this.#timeoutMs }: TimeoutOptions = {},
  ): Promise<Result> {
    this.checkOpen();
    const begin = (signal: AbortSignal) => {
      const result = work(signal);
      const call = { listIndex: 0, result };
      this.#active.add(call);
      const forget = () => this.#active.delete(call);
      result.then(forget, forget);
      return result;
    };
    try {
      return await withDeadline(timeoutMs, begin, {
        error: () => databaseUnavailable(new Error(`No answer within ${timeoutMs} ms.`)),
      });
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /** No pending call can last longer; a server that does not respond is not waited for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const results: Promise<unknown>[] = [];
    this.#active.visit(({ result }) => results.push(result));
    await endsWithin(DATABASE_TIMEOUT_MS, () => Promise.allSettled(results));
  }
}

function createDatabase(
  engine: Engine,
  { queries, instant }: Connected,
  defaultTimeoutMs = DATABASE_TIMEOUT_MS,
): Database {
  const calls = new TimedCalls(defaultTimeoutMs);
  let closing: Promise<void> | undefined;

  const database: Database = {
    engine,
    timeoutMs: defaultTimeoutMs,
    queries,
    run: (work, timeout) => calls.answer(async () => work(queries), timeout),
    async script(begin, options) {
      calls.checkOpen();
      const listeners = collectListeners();
      let ending: Ending = 'failed';
      try {
        const done = instant?.tryRun(() => begin(listeners.onEnd), options?.durability ?? 'full');
        if (done) {
          ending = 'committed';
          return done.result;
        }
      } catch (error) {
        throw translateDatabaseError(error);
      } finally {
        listeners.notify(ending);
      }
      return database.transaction((transaction, onEnd) => runScript(transaction, begin(onEnd)), options);
    },
    transaction: (work, options) =>
      calls.answer(async (signal) => {
        const listeners = collectListeners();
        const begin = (connection: Kysely<Tables>) =>
          connection.transaction().execute(async (transaction) => {
            const result = await work(transaction, listeners.onEnd);
            signal.throwIfAborted();
            return result;
          });
        const later = engine === 'sqlite' && options?.durability === 'relaxed';
        let ending: Ending = 'failed';
        try {
          const result = await (later ? unsynced(queries, begin) : begin(queries));
          ending = signal.aborted ? 'late' : 'committed';
          // The caller never sees success when the listeners see `late`.
          signal.throwIfAborted();
          return result;
        } finally {
          listeners.notify(ending);
        }
      }, options),
    async ping() {
      await calls.answer(async () => sql`select 1`.execute(queries), { timeoutMs: STATEMENT_MS });
    },
    close() {
      closing ??= calls.close().then(() => queries.destroy());
      return closing;
    },
  };
  return database;
}
