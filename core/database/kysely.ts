/**
 * What the state uses of the query builder. The build puts what that consists of into this file: one by one its 257 files
 * take several times as long to load as all of them in one.
 */
export {
  type ColumnDataType,
  type Compilable,
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Insertable,
  type InsertQueryBuilder,
  type InsertQueryNode,
  type InsertResult,
  Kysely,
  OrActionNode,
  PostgresAdapter,
  PostgresDialect,
  type PostgresPoolClient,
  type QueryResult,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type Transaction,
} from 'kysely';
export { type Migration, Migrator } from 'kysely/migration';
