import type BetterSqlite3 from 'better-sqlite3';
import { GatewayError, isSystemError } from '../runtime/index.js';
import { databaseAway, isSqliteLock } from './database-errors.js';
import { CompiledQuery } from './kysely.js';

const LOCK_PATIENCE_MS = 2_000;
/** Of 4 KiB, copied in one go; between two of them others have their turn. */
const PAGES_AT_ONCE = 2_000;

/** How far a step is that may take long. */
export interface Progress {
  step: string;
  done: number;
  /** Undefined where nobody knows. */
  of?: number;
}

export interface SqliteSourceOptions {
  /** Whether nobody else may have it open until it is closed. Default false: others go on writing. */
  alone?: boolean;
}

/** A SQLite database that is read as it is at one instant. */
export interface SqliteSource {
  /** What is copied is the database as it is now, whatever is written afterwards. */
  begin(): void;
  /**
   * @param file Must not be there.
   * @param report Told how much of the database is copied.
   */
  copyTo(file: string, report: (progress: Progress) => void, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * @throws GatewayError `invalid_value` where it is no database or, with `alone`, where another process has it open;
 * `upstream_unavailable` where it cannot be opened.
 */
export async function openSqliteSource(
  file: string,
  { alone = false }: SqliteSourceOptions = {},
): Promise<SqliteSource> {
  const sqlite = await open(file, { readonly: !alone });
  try {
    if (alone) {
      sqlite.pragma('locking_mode = exclusive');
      // The lock is taken with the first write, and held from then on.
      sqlite.exec('begin immediate; commit');
    }
    sqlite.prepare('select count(*) from sqlite_schema').get();
  } catch (error) {
    sqlite.close();
    if (alone && isSqliteLock(error)) {
      const message = `Another process has ${file} open. Stop the gateway that uses it, or give a backup of it.`;
      throw new GatewayError('invalid_value', message, { param: 'from', cause: error });
    }
    throw describeFailure(error, file);
  }
  return {
    begin() {
      sqlite.exec('begin');
      // SQLite takes its snapshot with the first read.
      sqlite.prepare('select count(*) from sqlite_schema').get();
    },
    async copyTo(target, report, signal) {
      await sqlite.backup(target, {
        progress({ totalPages, remainingPages }) {
          signal.throwIfAborted();
          const part = totalPages === 0 ? 0 : 1 - remainingPages / totalPages;
          report({ step: 'database, percent', done: Math.floor(part * 100), of: 100 });
          return PAGES_AT_ONCE;
        },
      });
    },
    close: () => void sqlite.close(),
  };
}

/** What is in a database that nobody uses. */
export interface SqliteContents {
  /** Rows of each table of the gateway. */
  tables: Readonly<Record<string, number>>;
  /** Names of the migrations it has had, in their order. */
  migrations: readonly string[];
  /** Under which peppers the keys that are not revoked were hashed, and how many under each. */
  peppers: readonly { version: number; keys: number }[];
}

/**
 * Makes one file of a copy, without companions, and looks through it.
 * @throws GatewayError `invalid_value` where it is none of this gateway's, `internal_error` where it is damaged.
 */
export async function examineSqlite(file: string): Promise<SqliteContents> {
  const sqlite = await open(file, { readonly: false });
  try {
    sqlite.pragma('journal_mode = delete');
    const verdict = sqlite.pragma('integrity_check', { simple: true });
    if (verdict !== 'ok') throw new GatewayError('internal_error', `The database is damaged: ${verdict}`);
    const names = sqlite.prepare(TABLE_NAMES).pluck().all() as string[];
    if (!names.includes('kysely_migration') || !names.includes('api_keys')) throw foreign(file);
    const tables = names
      .filter((name) => !name.startsWith('kysely_'))
      .map((name) => [name, sqlite.prepare(`select count(*) from "${name}"`).pluck().get() as number] as const);
    return {
      tables: Object.fromEntries(tables),
      migrations: sqlite.prepare('select name from kysely_migration order by name').pluck().all() as string[],
      peppers: sqlite.prepare(PEPPERS).all() as { version: number; keys: number }[],
    };
  } catch (error) {
    throw describeFailure(error, file);
  } finally {
    sqlite.close();
  }
}

const TABLE_NAMES = `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name`;
const PEPPERS =
  'select pepperVersion as version, count(*) as keys from api_keys where revokedAt is null group by pepperVersion';

async function open(file: string, { readonly }: { readonly: boolean }): Promise<BetterSqlite3.Database> {
  const { default: Sqlite } = await import('better-sqlite3');
  try {
    return new Sqlite(file, { readonly, fileMustExist: true, timeout: LOCK_PATIENCE_MS });
  } catch (error) {
    throw describeFailure(error, file);
  }
}

function describeFailure(error: unknown, file: string): unknown {
  if (isSystemError(error, 'SQLITE_NOTADB')) return foreign(file, error);
  if (isSystemError(error, 'SQLITE_CORRUPT')) {
    return new GatewayError('internal_error', 'The database is damaged.', { cause: error });
  }
  if (isSqliteLock(error)) return databaseAway(error);
  return error;
}

function foreign(file: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_value', `${file} is no database of this gateway.`, { param: 'from', cause });
}

/** What SQLite writes from here on reaches the disk when the operating system likes. */
export const SYNC_LATER = CompiledQuery.raw('pragma synchronous = normal');

/** It reaches the disk before its writer goes on, and whatever was written before with it. */
export const SYNC_ALWAYS = CompiledQuery.raw('pragma synchronous = full');
