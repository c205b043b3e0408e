/*
 * The query builder, as far as the state uses it. The build bundles the package into this file, because loading its
 * 257 files one by one takes several times as long.
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
