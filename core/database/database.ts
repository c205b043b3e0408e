import path from 'node:path';
import type { Logger } from '../contracts/index.js';
import { endsWithin, GatewayError, makeFolder, type Placed, SwapRemoveList, withDeadline } from '../runtime/index.js';
import { databaseAway, describeOpeningFailure, translateDatabaseError } from './database-errors.js';
import { type Dialect, Kysely, sql, type Transaction } from './kysely.js';
import { MIGRATION_STATEMENT_MS, type Migrations, migrate } from './schema-migration.js';
import { SYNC_ALWAYS, SYNC_LATER } from './sqlite-copy.js';
import { play, type Script } from './statements.js';
import type { Tables } from './tables.js';

export type Engine = 'sqlite' | 'postgres';

/** Longer than an engine's own patience with a lock or a statement, so that its reason becomes the cause. */
export const DATABASE_PATIENCE_MS = 2_400;
const STATEMENT_MS = 2_000;
/** Of the patience. */
const STATEMENT_SHARE = STATEMENT_MS / DATABASE_PATIENCE_MS;
const CONNECTIONS = 10;
/** Of SQLite, in the data folder. */
export const DATABASE_FILE = 'state.sqlite';

export interface DatabaseSettings {
  dataDir: string;
  databaseUrl?: string;
  /** Milliseconds that a statement may take on PostgreSQL. Default: 5/6 of the patience. */
  statementMs?: number;
  /** Milliseconds until a caller is told that the database did not answer. Default {@link DATABASE_PATIENCE_MS}. */
  patienceMs?: number;
  /** What brings the schema up to date. Default: it is taken as it is. */
  migrations?: Migrations;
  /** To a server, at most. Default 10. */
  connections?: number;
  /** Is told where a migration has to wait. Default: nobody. */
  logger?: Logger;
}

export interface Patience {
  /** Milliseconds until the caller is told that the database did not answer. Default: that of the database. */
  patienceMs?: number;
}

export interface TransactionOptions extends Patience {
  /**
   * What a committed transaction survives for certain: the end of this process, or a power cut as well. The former is for
   * what is worth less than waiting for the disk; the next transaction of the other sort makes it as safe. PostgreSQL, which
   * keeps others waiting for no disk, commits all alike. Default `power-cut`.
   */
  survives?: 'process-end' | 'power-cut';
}

/** Of a transaction; `late` is committed as well, though whoever asked for it had been told by then that it failed. */
export type Ending = 'committed' | 'late' | 'failed';

/** Has somebody told how the transaction ended, before whoever asked for it goes on. What is told must not throw. */
export type OnEnd = (listener: (ending: Ending) => void) => void;

/**
 * The SQL database, whichever it is. Every call ends in time; where the database is away, locked or full it throws
 * GatewayError `upstream_unavailable`.
 */
export interface Database {
  readonly engine: Engine;
  /** Milliseconds until a caller is told that the database did not answer, unless it says otherwise. */
  readonly patienceMs: number;
  /** For building and compiling queries. Executing goes through `run` and `transaction`. */
  readonly queries: Kysely<Tables>;
  /** Statements on their own. */
  run<Result>(work: (queries: Kysely<Tables>) => Promise<Result>, patience?: Patience): Promise<Result>;
  /** Rolled back where `work` throws, or where the caller has been told by then that it failed. */
  transaction<Result>(
    work: (transaction: Transaction<Tables>, onEnd: OnEnd) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /**
   * A transaction of nothing but a script; SQLite runs it at once where it is free.
   * @param begin Makes the script; again where a transaction is begun anew.
   */
  script<Result>(begin: (onEnd: OnEnd) => Script<Result>, options?: TransactionOptions): Promise<Result>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Of an engine that answers at once. */
export interface InstantScripts {
  /**
   * Runs a script in a transaction of its own, before anything else is done. Undefined where others are at work on the
   * database: then nothing was changed, and whoever asks has to wait.
   */
  tryRun<Result>(
    begin: () => Script<Result>,
    survives: NonNullable<TransactionOptions['survives']>,
  ): { result: Result } | undefined;
}

/** An engine that was connected to. */
interface Connected {
  queries: Kysely<Tables>;
  /** Undefined where answers are waited for. */
  instant?: InstantScripts;
}

/**
 * Connects and brings the schema up to date.
 * @throws GatewayError `invalid_value` for a URL of another kind or a schema that this release cannot use,
 * `upstream_unavailable`.
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
 * A connection with more patience than requests have, for looking at the schema and for changing it. SQLite's file is made
 * where it is absent.
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

async function openFile({ dataDir, migrations, logger, patienceMs }: DatabaseSettings): Promise<Database> {
  const connected = await connectFile(dataDir);
  const { queries } = connected;
  try {
    if (migrations) await migrate(queries, migrations, logger);
  } catch (error) {
    await queries.destroy();
    throw error;
  }
  return createDatabase('sqlite', connected, patienceMs);
}

async function openServer(databaseUrl: string, settings: DatabaseSettings): Promise<Database> {
  const { patienceMs, connections = CONNECTIONS, migrations, logger } = settings;
  const { statementMs = patienceMs ? Math.ceil(patienceMs * STATEMENT_SHARE) : STATEMENT_MS } = settings;
  if (migrations) await withSchema(settings, (queries) => migrate(queries, migrations, logger));
  return createDatabase('postgres', await connectServer(databaseUrl, { connections, statementMs }), patienceMs);
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

/** SQLite writes as always, but lets the operating system choose when that reaches the disk. */
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

/** Those who want to be told how one transaction ends. */
function collectListeners() {
  const listeners: ((ending: Ending) => void)[] = [];
  return {
    onEnd: (listener: (ending: Ending) => void): void => void listeners.push(listener),
    tell(ending: Ending): void {
      for (const listener of listeners) listener(ending);
    },
  };
}

/** Asked, and not answered yet. */
interface Active extends Placed {
  result: Promise<unknown>;
}

function createDatabase(
  engine: Engine,
  { queries, instant }: Connected,
  usualPatienceMs = DATABASE_PATIENCE_MS,
): Database {
  let closing: Promise<void> | undefined;
  const active = new SwapRemoveList<Active>();

  /** Answers in time even where the work does not; what it does later is rolled back or nobody's concern. */
  async function answer<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    { patienceMs = usualPatienceMs }: Patience = {},
  ): Promise<Result> {
    if (closing) throw databaseAway(new Error('The state has been closed.'));
    const begin = (signal: AbortSignal) => {
      const result = work(signal);
      const running = { place: 0, result };
      active.add(running);
      const forget = () => active.delete(running);
      result.then(forget, forget);
      return result;
    };
    try {
      return await withDeadline(patienceMs, begin, {
        error: () => databaseAway(new Error(`No answer within ${patienceMs} ms.`)),
      });
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  async function finish(): Promise<void> {
    // Nothing that is still to come can last longer; a server that has gone silent is not waited for.
    const results: Promise<unknown>[] = [];
    active.visit(({ result }) => results.push(result));
    await endsWithin(DATABASE_PATIENCE_MS, () => Promise.allSettled(results));
    await queries.destroy();
  }

  const database: Database = {
    engine,
    patienceMs: usualPatienceMs,
    queries,
    run: (work, patience) => answer(async () => work(queries), patience),
    async script(begin, options) {
      if (closing) throw databaseAway(new Error('The state has been closed.'));
      const listeners = collectListeners();
      let ending: Ending = 'failed';
      try {
        const done = instant?.tryRun(() => begin(listeners.onEnd), options?.survives ?? 'power-cut');
        if (done) {
          ending = 'committed';
          return done.result;
        }
      } catch (error) {
        throw translateDatabaseError(error);
      } finally {
        listeners.tell(ending);
      }
      return database.transaction((transaction, onEnd) => play(transaction, begin(onEnd)), options);
    },
    transaction: (work, options) =>
      answer(async (signal) => {
        const listeners = collectListeners();
        const begin = (connection: Kysely<Tables>) =>
          connection.transaction().execute(async (transaction) => {
            const result = await work(transaction, listeners.onEnd);
            signal.throwIfAborted();
            return result;
          });
        const later = engine === 'sqlite' && options?.survives === 'process-end';
        let ending: Ending = 'failed';
        try {
          const result = await (later ? unsynced(queries, begin) : begin(queries));
          ending = signal.aborted ? 'late' : 'committed';
          // The caller never takes for done what the listeners take for late.
          signal.throwIfAborted();
          return result;
        } finally {
          listeners.tell(ending);
        }
      }, options),
    async ping() {
      await answer(async () => sql`select 1`.execute(queries), { patienceMs: STATEMENT_MS });
    },
    close() {
      closing ??= finish();
      return closing;
    },
  };
  return database;
}
