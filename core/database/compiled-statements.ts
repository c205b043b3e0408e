/*
 * Statements of the hot path are compiled once, because compiling costs more than running. Where a value belongs, the
 * builder of a statement puts a parameter by its name; each run gives values by name, for both engines alike, so no
 * caller counts positions in the text of the SQL. A parameter can only stand for a value: the builder must not compute with it.
 * Lists run in chunks whose lengths are powers of two, so a statement has few forms. Giving values to a statement of
 * ten parameters takes about 0.3 microseconds.
 */

import {
  type Compilable,
  CompiledQuery,
  type Insertable,
  type InsertQueryBuilder,
  type InsertResult,
  type Kysely,
  sql,
} from './kysely.js';
import { rowsOf, type Script } from './statements.js';
import type { Tables } from './tables.js';

/** Maximum rows or values per statement. */
const MAX_PIECE = 256;

/** Stands in a compiled statement for the value with this name. */
class Parameter {
  constructor(
    readonly name: string,
    /** Of its item in the list. */
    readonly index: number,
  ) {}
}

/** Stands in a compiled statement for a value that is computed for each run. */
class ComputedParameter {
  constructor(readonly compute: () => unknown) {}
}

/** A value of compiled statements that is computed for each run. */
export function computed<Value>(compute: () => Value): Value {
  return new ComputedParameter(compute) as Value;
}

function parametersOf<Values extends object>(index: number): Values {
  const get = (_target: object, name: string | symbol) => new Parameter(String(name), index);
  return new Proxy({}, { get }) as Values;
}

/** The statement with the values of its items. */
function withValues<Row>(query: CompiledQuery<Row>, items: readonly object[], from: number): CompiledQuery<Row> {
  const parameters = query.parameters.map((parameter) => {
    if (parameter instanceof Parameter) {
      return (items[from + parameter.index] as Readonly<Record<string, unknown>>)[parameter.name];
    }
    return parameter instanceof ComputedParameter ? parameter.compute() : parameter;
  });
  return { ...query, parameters };
}

/** A statement that is compiled at its first run. @param compile Puts the given parameters where values belong. */
export function createStatement<Values extends object, Row>(compile: (parameters: Values) => CompiledQuery<Row>) {
  let compiled: CompiledQuery<Row> | undefined;
  return (values: Values): Script<readonly Row[]> => {
    compiled ??= compile(parametersOf(0));
    return rowsOf(withValues(compiled, [values], 0));
  };
}

/** A statement with a list of any length. @param compile Gets the parameters of as many items as a chunk has. */
export function createListScript<Item extends object, Row>(
  compile: (items: readonly Item[], first: Item) => CompiledQuery<Row>,
) {
  const compiled = new Map<number, CompiledQuery<Row>>();

  function compiledFor(length: number, first: Item): CompiledQuery<Row> {
    const known = compiled.get(length);
    if (known) return known;
    const made = compile(
      Array.from({ length }, (_, index) => parametersOf<Item>(index)),
      first,
    );
    compiled.set(length, made);
    return made;
  }

  /** The rows that all chunks return. */
  return function* (items: readonly Item[]): Script<readonly Row[]> {
    let found: readonly Row[] = [];
    for (let begun = 0; begun < items.length; ) {
      const length = Math.min(MAX_PIECE, 2 ** Math.floor(Math.log2(items.length - begun)));
      const rows = yield* rowsOf(withValues(compiledFor(length, items[begun] as Item), items, begun));
      found = begun === 0 ? rows : [...found, ...rows];
      begun += length;
    }
    return found;
  };
}

type Insert<Name extends keyof Tables> = InsertQueryBuilder<Tables, Name, InsertResult>;

export interface RowInsertOptions<Name extends keyof Tables, Row> {
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  table: Name;
  /** Values that all rows share: written as literals, since a parameter costs as much as a column. Default: none. */
  alike?: Partial<Insertable<Tables[Name]>>;
  /** SQL after the rows. Default: none. */
  finish?(insert: Insert<Name>): Compilable<Row>;
}

/** Inserts several rows at once, and returns what the statement returns. All rows have the columns of the first. */
export function createRowInsertScript<Name extends keyof Tables, Row = InsertResult>(
  options: RowInsertOptions<Name, Row>,
) {
  const { queries, table, alike = {}, finish = (insert) => insert as Compilable<Row> } = options;
  const literals = Object.fromEntries(Object.entries(alike).map(([column, value]) => [column, sql.lit(value)]));
  return createListScript<Required<Insertable<Tables[Name]>>, Row>((rows, first) => {
    const columns = Object.keys(first) as (keyof typeof first)[];
    const inserted = rows.map((row) => ({
      ...Object.fromEntries(columns.map((column) => [column, row[column]])),
      ...literals,
    }));
    return finish(queries.insertInto(table).values(inserted as Insertable<Tables[Name]>[])).compile();
  });
}
