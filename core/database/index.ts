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
export { createInstances, type Instances } from './instances.js';
export {
  CompiledQuery,
  Kysely,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  sql,
  type Transaction,
} from './kysely.js';
export { createLanes } from './lanes.js';
export { startPatience } from './patience.js';
export { createRareWarning } from './rare-warning.js';
export { type Rounds, startRounds } from './rounds.js';
export { createRowInsertScript } from './row-insert.js';
export { describeRunner, hasEnded, nameRunner } from './runner.js';
export { MIGRATION_STATEMENT_MS, readSchemaStatus, type SchemaStatus } from './schema-migration.js';
export { play, rowsOf, type Script } from './script.js';
export { examineSqlite, openSqliteSource, type SqliteContents } from './sqlite-copy.js';
export { createListScript, createListStatement, filled, lockNamed } from './statements.js';
export { isKept, storable } from './storable-text.js';
export { MOVED_TABLES } from './table-names.js';
export { createWriteBehind } from './write-behind.js';
