export { createBeats } from './beats.js';
export {
  DATABASE_FILE,
  DATABASE_PATIENCE_MS,
  type Database,
  type Engine,
  type OnEnd,
  openDatabase,
  withSchema,
} from './database.js';
export { translateDatabaseError } from './database-errors.js';
export { type Listening, listenPostgres } from './database-postgres.js';
export { deleteBeyond, deleteExpired, type ExpiringTable } from './expired-rows.js';
export { createGroupCommit, type GroupCommit } from './group-commit.js';
export { createInstances, differencesAmong, type Fingerprint, type Instances } from './instances.js';
export { createJobClock, DATABASE_NOW, type JobClock } from './job-clock.js';
export {
  type ColumnDataType,
  CompiledQuery,
  Kysely,
  PostgresAdapter,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  SqliteAdapter,
  sql,
  type Transaction,
} from './kysely.js';
export { createLanes } from './lanes.js';
export type { Migrations, SchemaChange } from './migration-locks.js';
export { createRowInsertScript } from './row-insert.js';
export { describeRunner, hasEnded, nameRunner } from './runner.js';
export {
  allPending,
  MIGRATION_STATEMENT_MS,
  migrate,
  readSchemaStatus,
  type SchemaStatus,
} from './schema-migration.js';
export { play, rowsOf, type Script } from './script.js';
export { examineSqlite, openSqliteSource, type Progress, type SqliteContents } from './sqlite-copy.js';
export { createListScript, createListStatement, filled, lockNamed } from './statements.js';
export { isKept, storable } from './storable-text.js';
export type { Tables } from './tables.js';
export { createWriteBehind } from './write-behind.js';
