import type { CompiledQuery, Insertable, InsertQueryBuilder, InsertResult, Kysely, Transaction } from 'kysely';
import type { Tables } from './schema.js';

type Insert<Name extends keyof Tables> = InsertQueryBuilder<Tables, Name, InsertResult>;

export interface RowInsertOptions<Name extends keyof Tables> {
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  table: Name;
  /** Any row; all have its members. */
  sample: Required<Insertable<Tables[Name]>>;
  /** What follows the rows. */
  conflict?(insert: Insert<Name>): Insert<Name>;
}

/**
 * Inserts several rows with one statement, which is built once for each number of rows: building it costs more than running
 * it.
 */
export function createRowInsert<Name extends keyof Tables>(options: RowInsertOptions<Name>) {
  const { queries, table, sample, conflict = (insert) => insert } = options;
  const columns = Object.keys(sample) as (keyof typeof sample)[];
  const compiled = new Map<number, CompiledQuery>();

  function compile(count: number): CompiledQuery {
    const known = compiled.get(count);
    if (known) return known;
    const insert = queries
      .insertInto(table)
      .values(Array.from({ length: count }, () => sample as Insertable<Tables[Name]>));
    const made = conflict(insert).compile();
    compiled.set(count, made);
    return made;
  }

  return async (
    transaction: Transaction<Tables>,
    rows: readonly Required<Insertable<Tables[Name]>>[],
  ): Promise<void> => {
    if (rows.length === 0) return;
    const parameters = rows.flatMap((row) => columns.map((column) => row[column]));
    await transaction.executeQuery({ ...compile(rows.length), parameters });
  };
}
