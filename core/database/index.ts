/*
 * The only module of the database that other folders import: the connection, scripts, group commits, due rows,
 * heartbeats and migrations.
 */

export {
  DATABASE_FILE,
  DATABASE_TIMEOUT_MS,
  type Database,
  type Engine,
  type OnEnd,
  openDatabase,
  withSchema,
} from './database.js';
export { translateDatabaseError } from './database-errors.js';
export { type Listening, listenPostgres } from './database-postgres.js';
export { DueMessages, DueWork, dueRows, type TakeRequest } from './due-rows.js';
export { Doubts, GroupCommit, Shards, WriteBehind } from './group-commit.js';
export {
  differencesAmong,
  type Fingerprint,
  Instances,
  processMigrations,
  SilenceWatch,
} from './heartbeat.js';
export {
  CompiledQuery,
  Kysely,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  SqliteAdapter,
  sql,
  type Transaction,
} from './kysely.js';
export { describeProcess, isProcessDead } from './process-ids.js';
export {
  allPending,
  MIGRATION_STATEMENT_MS,
  type Migrations,
  migrate,
  readSchemaStatus,
  type SchemaStatus,
  sqlMigration,
} from './schema-migration.js';
export { examineSqlite, openSqliteSource, type Progress, type SqliteContents } from './sqlite-copy.js';
export {
  beginsWith,
  createListScript,
  createRowInsertScript,
  createStatement,
  DATABASE_NOW,
  DatabaseClock,
  deleteBeyond,
  deleteExpired,
  type ExpiringTable,
  isStorable,
  lockNamed,
  prefixIndex,
  rowsOf,
  runScript,
  type Script,
  shareNamed,
  storable,
  type TextStart,
} from './statements.js';
export type { Tables } from './tables.js';
