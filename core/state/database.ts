import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery, type Dialect, Kysely, sql, type Transaction } from 'kysely';
import { Migrator } from 'kysely/migration';
import { GatewayError } from '../errors.js';
import { databaseAway, translateDatabaseError } from './database-errors.js';
import { migrations } from './migrations/index.js';
import type { Tables } from './schema.js';

export type Engine = 'sqlite' | 'postgres';

/** Longer than an engine's own patience with a lock or a statement, so that its reason becomes the cause. */
export const DATABASE_PATIENCE_MS = 2_400;
const STATEMENT_MS = 2_000;
/** A migration may rewrite a table, or wait for another process that does. */
const MIGRATION_STATEMENT_MS = 600_000;
const CONNECTIONS = 10;
const SYNC_LATER = CompiledQuery.raw('pragma synchronous = normal');
const SYNC_ALWAYS = CompiledQuery.raw('pragma synchronous = full');

export interface DatabaseSettings {
  dataDir: string;
  databaseUrl?: string;
}

export interface Patience {
  /** Milliseconds until the caller is told that the database did not answer. Default {@link DATABASE_PATIENCE_MS}. */
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

/**
 * The SQL database, whichever it is. Every call ends in time; where the database is away, locked or full it throws
 * GatewayError `upstream_unavailable`.
 */
export interface Database {
  readonly engine: Engine;
  /** For building and compiling queries. Executing goes through `run` and `transaction`. */
  readonly queries: Kysely<Tables>;
  /** Statements on their own. */
  run<Result>(work: (queries: Kysely<Tables>) => Promise<Result>, patience?: Patience): Promise<Result>;
  /** Rolled back where `work` throws, or where the caller has been told by then that it failed. */
  transaction<Result>(
    work: (transaction: Transaction<Tables>) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects and brings the schema up to date.
 * @throws GatewayError `invalid_value` for a URL of another kind, `upstream_unavailable`.
 */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  try {
    return settings.databaseUrl === undefined
      ? await openFile(settings.dataDir)
      : await openServer(settings.databaseUrl);
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

async function openFile(dataDir: string): Promise<Database> {
  const { openSqlite } = await import('./database-sqlite.js');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const queries = connect(await openSqlite(path.join(dataDir, 'state.sqlite')));
  try {
    await migrate(queries);
  } catch (error) {
    await queries.destroy();
    throw error;
  }
  return createDatabase('sqlite', queries);
}

async function openServer(url: string): Promise<Database> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    const message = 'The database URL must start with postgres:// or postgresql://.';
    throw new GatewayError('invalid_value', message, { param: 'databaseUrl' });
  }
  const { openPostgres } = await import('./database-postgres.js');
  const patient = connect(await openPostgres({ url, connections: 1, statementMs: MIGRATION_STATEMENT_MS }));
  try {
    await migrate(patient);
  } finally {
    await patient.destroy();
  }
  return createDatabase(
    'postgres',
    connect(await openPostgres({ url, connections: CONNECTIONS, statementMs: STATEMENT_MS })),
  );
}

function connect(dialect: Dialect): Kysely<Tables> {
  return new Kysely<Tables>({ dialect });
}

async function migrate(queries: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({ db: queries, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
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

function createDatabase(engine: Engine, queries: Kysely<Tables>): Database {
  let closing: Promise<void> | undefined;
  const active = new Set<Promise<unknown>>();

  /** Answers in time even where the work does not; what it does later is rolled back or nobody's concern. */
  async function answer<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    { patienceMs = DATABASE_PATIENCE_MS }: Patience = {},
  ): Promise<Result> {
    if (closing) throw databaseAway(new Error('The state has been closed.'));
    const told = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const error = databaseAway(new Error(`No answer within ${patienceMs} ms.`));
        told.abort(error);
        reject(error);
      }, patienceMs);
    });
    const result = work(told.signal);
    active.add(result);
    const forget = () => active.delete(result);
    result.then(forget, forget);
    try {
      return await Promise.race([result, tooLong]);
    } catch (error) {
      throw translateDatabaseError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async function finish(): Promise<void> {
    // Nothing that is still to come can last longer; a server that has gone silent is not waited for.
    const patience = new AbortController();
    const tooLong = sleep(DATABASE_PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(active), tooLong]);
    patience.abort();
    await queries.destroy();
  }

  return {
    engine,
    queries,
    run: (work, patience) => answer(async () => work(queries), patience),
    transaction: (work, options) =>
      answer(async (signal) => {
        const begin = (connection: Kysely<Tables>) =>
          connection.transaction().execute(async (transaction) => {
            const result = await work(transaction);
            signal.throwIfAborted();
            return result;
          });
        return engine === 'sqlite' && options?.survives === 'process-end' ? unsynced(queries, begin) : begin(queries);
      }, options),
    async ping() {
      await answer(async () => sql`select 1`.execute(queries), { patienceMs: STATEMENT_MS });
    },
    close() {
      closing ??= finish();
      return closing;
    },
  };
}
