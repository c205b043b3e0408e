import {
  type Compilable,
  type Insertable,
  type InsertQueryBuilder,
  type InsertResult,
  type Kysely,
  sql,
} from './kysely.js';
import { createListScript } from './statements.js';
import type { Tables } from './tables.js';

type Insert<Name extends keyof Tables> = InsertQueryBuilder<Tables, Name, InsertResult>;

export interface RowInsertOptions<Name extends keyof Tables, Row> {
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  table: Name;
  /** Any row; all have its members. */
  sample: Required<Insertable<Tables[Name]>>;
  /** What all rows have alike: written out, since a parameter costs as much as a column. Default: nothing. */
  alike?: Partial<Insertable<Tables[Name]>>;
  /** What follows the rows. Default: nothing. */
  finish?(insert: Insert<Name>): Compilable<Row>;
}

/** Inserts several rows at once, with statements that are built once; gives back what they return. */
export function createRowInsertScript<Name extends keyof Tables, Row = InsertResult>(
  options: RowInsertOptions<Name, Row>,
) {
  const { queries, table, sample, alike = {}, finish = (insert) => insert as Compilable<Row> } = options;
  const columns = (Object.keys(sample) as (keyof typeof sample)[]).filter((column) => !(column in alike));
  const literals = Object.fromEntries(Object.entries(alike).map(([column, value]) => [column, sql.lit(value)]));
  const row = { ...sample, ...literals } as Insertable<Tables[Name]>;
  return createListScript<Row, Required<Insertable<Tables[Name]>>>(
    (length) => finish(queries.insertInto(table).values(Array.from({ length }, () => row))).compile(),
    (inserted, parameters) => {
      for (const column of columns) parameters.push(inserted[column]);
    },
  );
}
