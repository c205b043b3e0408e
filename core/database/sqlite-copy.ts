/*
 * Copies a SQLite database at one instant while other processes continue writing, and examines a copy: integrity,
 * tables, migrations, and the peppers of its keys. The copy runs in steps of 2,000 pages, between which other work
 * continues and an abort is noticed. With `alone` the source is locked for every other process, and a lock held
 * elsewhere is an error that says to stop the gateway. Backup, restore and the move to PostgreSQL use it. It also has
 * the two sync modes of SQLite.
 */

import type BetterSqlite3 from 'better-sqlite3';
import { GatewayError, isSystemError } from '../runtime/index.js';
import { databaseUnavailable, isSqliteLock } from './database-errors.js';
import { CompiledQuery } from './kysely.js';

const LOCK_TIMEOUT_MS = 2_000;
/** Pages of 4 KiB, copied in one step; other work continues between two steps. */
const PAGES_AT_ONCE = 2_000;

/** Progress of a long step. */
export interface Progress {
  step: string;
  done: number;
  /** Undefined if it is unknown. */
  of?: number;
}

export interface SqliteSourceOptions {
  /** Whether no other process may open it until it is closed. Default false: others continue writing. */
  alone?: boolean;
}

/** A consistent read of a SQLite database at one instant. */
export interface SqliteSource {
  /** The copy contains the database as it is now, regardless of later writes. */
  begin(): void;
  /**
   * @param file Must not exist.
   * @param report Receives the progress of the copy.
   */
  copyTo(file: string, report: (progress: Progress) => void, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * @throws GatewayError `invalid_value` if it is no database or, with `alone`, if another process has it open;
 *   `upstream_unavailable` if it cannot be opened.
 */
export async function openSqliteSource(
  file: string,
  { alone = false }: SqliteSourceOptions = {},
): Promise<SqliteSource> {
  const sqlite = await open(file, { readonly: !alone });
  try {
    if (alone) {
      sqlite.pragma('locking_mode = exclusive');
      // The lock is acquired by the first write, and held from then on.
      sqlite.exec('begin immediate; commit');
    }
    sqlite.prepare('select count(*) from sqlite_schema').get();
  } catch (error) {
    sqlite.close();
    if (alone && isSqliteLock(error)) {
      const message = `Another process has ${file} open. Stop the gateway that uses it, or use a backup of it.`;
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

/** The content of a database that is not in use. */
export interface SqliteContents {
  /** Rows of each table of the gateway. */
  tables: Readonly<Record<string, number>>;
  /** Names of its applied migrations, in order. */
  migrations: readonly string[];
  /** The peppers of the keys that are not revoked, with the number of keys per pepper. */
  peppers: readonly { version: number; keys: number }[];
}

/**
 * Converts a copy to one file, without companions, and checks it.
 * @throws GatewayError `invalid_value` if it is none of this gateway's, `internal_error` if it is damaged.
 */
export async function examineSqlite(file: string): Promise<SqliteContents> {
  const sqlite = await open(file, { readonly: false });
  try {
    sqlite.pragma('journal_mode = delete');
    const result = sqlite.pragma('integrity_check', { simple: true });
    if (result !== 'ok') throw new GatewayError('internal_error', `The database is damaged: ${result}`);
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
    return new Sqlite(file, { readonly, fileMustExist: true, timeout: LOCK_TIMEOUT_MS });
  } catch (error) {
    throw describeFailure(error, file);
  }
}

function describeFailure(error: unknown, file: string): unknown {
  if (isSystemError(error, 'SQLITE_NOTADB')) return foreign(file, error);
  if (isSystemError(error, 'SQLITE_CORRUPT')) {
    return new GatewayError('internal_error', 'The database is damaged.', { cause: error });
  }
  if (isSqliteLock(error)) return databaseUnavailable(error);
  return error;
}

function foreign(file: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_value', `${file} is not a database of this gateway.`, { param: 'from', cause });
}

/** The operating system decides when later writes reach the disk. */
export const SYNC_LATER = CompiledQuery.raw('pragma synchronous = normal');

/** Writes reach the disk before the writer continues, including earlier ones. */
export const SYNC_ALWAYS = CompiledQuery.raw('pragma synchronous = full');
