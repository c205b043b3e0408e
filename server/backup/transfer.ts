/*
 * Imports a state from SQLite into an empty PostgreSQL. It reads a copy of the database that is migrated to the schema
 * of this release; the source is never changed, and no other process may have it open. Files are copied first and each
 * is verified; then all rows are copied in one transaction, under a lock on the target's tables, and the counts are
 * compared before it commits. So an interrupted import has written no row and can be repeated. Cached values and the
 * list of processes are not copied. Damaged files are counted and skipped.
 */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Logger } from '../../core/contracts/index.js';
import {
  createListScript,
  DATABASE_FILE,
  type Database,
  examineSqlite,
  type Kysely,
  MIGRATION_STATEMENT_MS,
  openDatabase,
  openSqliteSource,
  runScript,
  type SqliteContents,
  sql,
  type Tables,
  type Transaction,
  translateDatabaseError,
} from '../../core/database/index.js';
import { folderNames, GatewayError, isGatewayError, isSystemError } from '../../core/runtime/index.js';
import {
  digestOf,
  FILE_NAME,
  type Files,
  isWhole,
  openFiles,
  readRange,
  readTrailer,
  type Trailer,
} from '../../core/storage/index.js';
import { migrations } from '../migrations.js';
import { FILES_FOLDER, isBackup, type Progress, readSums } from './backup.js';

export interface ImportOptions {
  /** A data folder, a backup, or a SQLite file. */
  from: string;
  /** URL of a PostgreSQL database without rows; see StateSettings, as the next two. */
  databaseUrl: string;
  dataDir: string;
  filesUrl?: string;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface ImportReport {
  /** Rows of each table. */
  tables: Readonly<Record<string, number>>;
  /** Undefined if there were none to copy: the data folder is the same, or the source is a file. */
  files?: FileTransfer;
  /** Peppers that the keys were hashed with. */
  peppers: SqliteContents['peppers'];
}

interface Source {
  database: string;
  files?: string;
  isBackup: boolean;
}

/**
 * Imports a state from SQLite into PostgreSQL. It reads a copy of the database, migrated to this release's schema; the
 * source is not changed, and no other process may have it open. First the files are copied, then all rows in one
 * transaction: an interrupted import has written no row, and can be repeated.
 * @throws GatewayError `invalid_value` for an unusable source or target, `internal_error` for damage,
 *   `upstream_unavailable`; errors of the system.
 */
export async function importSqlite(options: ImportOptions): Promise<ImportReport> {
  const { databaseUrl, dataDir, signal, report } = options;
  const source = await findSource(options.from, signal);
  const held = await openSqliteSource(source.database, { alone: !source.isBackup });
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const scratch = await mkdtemp(path.join(dataDir, '.import-'));
    try {
      const copy = path.join(scratch, DATABASE_FILE);
      await held.copyTo(copy, report, signal);
      const { peppers } = await examineSqlite(copy);
      const from = await openDatabase({ dataDir: scratch, migrations });
      try {
        const to = await openDatabase({ dataDir, databaseUrl, migrations, statementMs: MIGRATION_STATEMENT_MS });
        try {
          await to.run(refuseRows, { timeoutMs: MIGRATION_STATEMENT_MS });
          const files = await bringFiles(source, options);
          const tables = await transferTables({ from, to, signal, report });
          return { tables, peppers, ...(files && { files }) };
        } finally {
          await to.close();
        }
      } finally {
        await from.close();
      }
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } finally {
    held.close();
  }
}

async function bringFiles(source: Source, options: ImportOptions): Promise<FileTransfer | undefined> {
  const { dataDir, filesUrl, clock, logger, signal, report } = options;
  if (source.files === undefined) return undefined;
  const files = await openFiles({ dataDir, filesUrl, clock, logger });
  try {
    // A gateway with an object store uploads the files of its own folder.
    if (source.files === (await realpath(path.join(dataDir, FILES_FOLDER)))) return undefined;
    return await transferFiles({ folder: source.files, files, now: clock.now(), signal, report });
  } finally {
    await files.close();
  }
}

async function findSource(from: string, signal: AbortSignal): Promise<Source> {
  const source = path.resolve(from);
  if ((await kindOf(source)) === 'file') return { database: source, isBackup: false };
  const database = path.join(source, DATABASE_FILE);
  if ((await kindOf(database)) !== 'file') throw refuse(`${source} is neither a data folder nor a backup.`);
  const folder = path.join(source, FILES_FOLDER);
  const files = (await kindOf(folder)) === 'folder' ? await realpath(folder) : undefined;
  const backup = await isBackup(source);
  if (backup && (await digestOf(database, signal))?.sha256 !== (await readSums(source)).get(DATABASE_FILE)) {
    throw new GatewayError('internal_error', `The backup is damaged: ${database} has changed since the backup.`);
  }
  return { database, isBackup: backup, ...(files !== undefined && { files }) };
}

async function kindOf(source: string): Promise<'file' | 'folder' | undefined> {
  try {
    const stats = await stat(source);
    return stats.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

function refuse(message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'from' });
}

/** Concurrent uploads to an object store. */
const PARALLEL = 4;

export interface FileTransferOptions {
  /** Folder of a disk storage; it is not changed. */
  folder: string;
  files: Files;
  /** Milliseconds since 1970: files that have expired by then are skipped. */
  now: number;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface FileTransfer {
  /** Number of files that were copied. */
  copied: number;
  /** Number of damaged or foreign files. */
  unreadable: number;
}

/** Copies all files of a folder into a storage, and verifies each. Existing ones are written again. */
export async function transferFiles(options: FileTransferOptions): Promise<FileTransfer> {
  const { folder, files, now, signal, report } = options;
  const names = (await folderNames(folder)).filter((name) => FILE_NAME.test(name));
  const rest = names.values();
  const transfer: FileTransfer = { copied: 0, unreadable: 0 };
  let done = 0;

  async function work(): Promise<void> {
    for (const name of rest) {
      signal.throwIfAborted();
      report({ step: 'files', done, of: names.length });
      done += 1;
      const handle = await open(path.join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW).catch(
        () => undefined,
      );
      try {
        const trailer = handle && (await trailerOf(name, handle));
        if (!handle || !trailer) transfer.unreadable += 1;
        else if (trailer.expiresAt === undefined || trailer.expiresAt > now) {
          await copy(files, name, { handle, trailer });
          transfer.copied += 1;
        }
      } finally {
        await handle?.close();
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return transfer;
}

/** Undefined for a damaged file: the storage would store it with the hash of the damaged content. */
async function trailerOf(name: string, handle: FileHandle): Promise<Trailer | undefined> {
  try {
    const { trailer } = await readTrailer(name, handle);
    return (await isWhole(name, handle, trailer)) ? trailer : undefined;
  } catch {
    return undefined;
  }
}

async function copy(files: Files, name: string, from: { handle: FileHandle; trailer: Trailer }): Promise<void> {
  const { contentType, size, expiresAt, sha256 } = from.trailer;
  const expiry = expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) };
  await files.write({ name, contentType, ...expiry, body: readRange(name, from.handle, { start: 0, end: size - 1 }) });
  const written = await files.stat(name);
  if (written?.etag !== `"${sha256}"`) throw new GatewayError('internal_error', `The file ${name} is damaged.`);
}

/** Rows per statement of two; jobs may have large rows, and this many fit into memory. */
const ROWS_AT_ONCE = 512;
/** All of it is one transaction. */
const TRANSFER_MS = 6 * 3_600_000;

type Row = Record<string, unknown>;
type AnyTables = Record<string, Row>;

export interface TransferOptions {
  /** SQLite with this release's schema, used by no other process. */
  from: Database;
  /** PostgreSQL, likewise; other processes may use it, and wait. */
  to: Database;
  signal: AbortSignal;
  report(progress: Progress): void;
}

/**
 * Copies all rows of all tables in one transaction, and compares the counts before it commits.
 * @returns Rows of each table.
 * @throws GatewayError `invalid_value` if the target has rows, `internal_error` if a row cannot be copied.
 */
export async function transferTables({ from, to, signal, report }: TransferOptions): Promise<Record<string, number>> {
  const counts = await from.run(countRows);
  await to.transaction(
    async (transaction) => {
      const names = sql.join(MOVED_TABLES.map((name) => sql.table(name)));
      // Other writers wait for the end, including a second transfer.
      await sql`lock table ${names} in share row exclusive mode`.execute(transaction);
      await refuseRows(transaction);
      for (const table of MOVED_TABLES) {
        await moveTable(table, { from, transaction, of: counts[table] ?? 0, signal, report });
      }
      report({ step: 'counting', done: 0 });
      const arrived = await countRows(transaction);
      for (const table of MOVED_TABLES) {
        if (arrived[table] === counts[table]) continue;
        const message = `Of ${counts[table]} rows of ${table}, ${arrived[table]} were copied; the database was left empty.`;
        throw new GatewayError('internal_error', message);
      }
    },
    { timeoutMs: TRANSFER_MS },
  );
  // Without statistics the server plans its first queries as if the tables were empty.
  for (const table of MOVED_TABLES) {
    await to.run((queries) => sql`analyze ${sql.table(table)}`.execute(queries), { timeoutMs: TRANSFER_MS });
  }
  return counts;
}

/** @throws GatewayError `invalid_value` if the table has rows. */
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

/** In the order of their key, after the last row that was read. */
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
  const insert = createListScript((rows: readonly Row[]) => {
    const copies = rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])));
    return (transaction as unknown as Kysely<AnyTables>).insertInto(table).values(copies).compile();
  });
  return (rows: readonly Row[]) => runScript(transaction, insert(rows));
}

function describeFailure(error: unknown, table: string, done: number): unknown {
  const known = translateDatabaseError(error);
  if (isGatewayError(known) || !(error instanceof Error)) return known;
  const message = `A row of ${table}, behind the first ${done}, could not be copied: ${error.message}. The database was left empty.`;
  return new GatewayError('internal_error', message, { cause: error });
}

/**
 * Whether a table is copied when the state moves to another database; cached values are created again, and processes
 * register themselves. Messages of alerts that still wait are about the old place.
 */
const GOES_ALONG: Readonly<Record<keyof Tables, boolean>> = {
  accounts: true,
  erasures: true,
  users: true,
  sessions: true,
  sign_ins: true,
  invitations: true,
  changed_models: true,
  passkeys: true,
  passkey_challenges: true,
  recovery_codes: true,
  oauth_requests: true,
  oauth_tokens: true,
  oauth_clients: true,
  oauth_connections: true,
  application_sign_ins: true,
  device_grants: true,
  audit_entries: true,
  blocked_links: true,
  probe_results: true,
  incidents: true,
  incident_updates: true,
  alerts: true,
  alert_messages: false,
  alert_turns: false,
  status_samples: false,
  api_keys: true,
  budgets: true,
  key_groups: true,
  ledger_entries: true,
  budget_alerts: true,
  plan_grants: true,
  erased_allowances: true,
  orders: true,
  bank_transactions: true,
  receipt_counters: true,
  rate_windows: true,
  rate_slots: true,
  daily_quotas: true,
  jobs: true,
  job_owners: true,
  job_pauses: true,
  batch_links: true,
  webhook_secrets: true,
  idempotency_keys: true,
  job_charges: true,
  reservations: true,
  usage_entries: true,
  usage_totals: true,
  usage_overflow: true,
  usage_days: false,
  usage_today: false,
  model_latencies: false,
  usage_currency: true,
  request_input_settings: true,
  request_inputs: true,
  stored_responses: true,
  response_items: true,
  background_responses: true,
  cache_entries: false,
  instances: false,
};

/** Tables that are copied, each after those that its rows refer to. */
export const MOVED_TABLES = (Object.keys(GOES_ALONG) as (keyof Tables)[]).filter((name) => GOES_ALONG[name]);
