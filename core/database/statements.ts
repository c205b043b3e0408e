/*
 * Scripts, statements that are compiled once, and the clock of the database. A `Script` is a generator of statements
 * that runs asynchronously or, on SQLite, synchronously. Statements of the hot path are compiled once, because
 * compiling costs more than running: where a value belongs, the builder of a statement puts a parameter by its name,
 * and each run gives values by name, for both engines alike, so no caller counts positions in the text of the SQL. A
 * parameter can only stand for a value: the builder must not compute with it. Lists run in chunks whose lengths are
 * powers of two, so a statement has few forms. Giving values to a statement of ten parameters takes about 0.3
 * microseconds. The file also has named locks, deletion of expired rows in batches, and the cleaning of text for
 * storage.
 */

import type { Clock } from '../contracts/index.js';
import type { Engine } from './database.js';
import {
  type Compilable,
  CompiledQuery,
  type Insertable,
  type InsertQueryBuilder,
  type InsertResult,
  type Kysely,
  type RawBuilder,
  sql,
} from './kysely.js';
import type { Tables } from './tables.js';

/**
 * A transaction script: statements one after the other, each made from the results of earlier ones, and a final result.
 * It can run asynchronously, or synchronously on an engine that supports it. It waits for nothing else.
 */
export type Script<Result> = Generator<CompiledQuery, Result, readonly unknown[]>;

/** Runs one statement; returns its rows. */
export function* rowsOf<Row>(query: CompiledQuery<Row>): Script<readonly Row[]> {
  return (yield query) as readonly Row[];
}

/** Runs a script asynchronously. */
export async function runScript<Result>(queries: Kysely<Tables>, script: Script<Result>): Promise<Result> {
  let step = script.next();
  while (!step.done) step = script.next((await queries.executeQuery(step.value)).rows);
  return step.value;
}

/** Runs a script synchronously. @param rowsOfQuery Runs a statement. */
export function runScriptSync<Result>(
  script: Script<Result>,
  rowsOfQuery: (query: CompiledQuery) => readonly unknown[],
): Result {
  let step = script.next();
  while (!step.done) step = script.next(rowsOfQuery(step.value));
  return step.value;
}

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

interface RowInsertOptions<Name extends keyof Tables, Row> {
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  table: Name;
  /** Values that all rows share: written as literals, since a parameter costs as much as a column. Default: none. */
  alike?: Partial<Insertable<Tables[Name]>>;
  /**
   * What columns have that a statement leaves out, as the table says. Such a column is left out while no row of the
   * list has another value. Default: all columns are written.
   */
  usual?: Partial<Insertable<Tables[Name]>>;
  /** SQL after the rows. Default: none. */
  finish?(insert: Insert<Name>): Compilable<Row>;
}

/** Maximum forms of an insert by the columns that it leaves out; further lists are written with all columns. */
const MAX_FORMS = 16;

/** Inserts several rows at once, and returns what the statement returns. All rows have the columns of the first. */
export function createRowInsertScript<Name extends keyof Tables, Row = InsertResult>(
  options: RowInsertOptions<Name, Row>,
) {
  type Item = Required<Insertable<Tables[Name]>>;
  const { queries, table, alike = {}, usual = {}, finish = (insert) => insert as Compilable<Row> } = options;
  const literals = Object.fromEntries(Object.entries(alike).map(([column, value]) => [column, sql.lit(value)]));
  const usualValues = Object.entries(usual) as [keyof Item, unknown][];
  const create = (leftOut: readonly (keyof Item)[]) =>
    createListScript<Item, Row>((rows, first) => {
      const columns = (Object.keys(first) as (keyof Item)[]).filter((column) => !leftOut.includes(column));
      const inserted = rows.map((row) => ({
        ...Object.fromEntries(columns.map((column) => [column, row[column]])),
        ...literals,
      }));
      return finish(queries.insertInto(table).values(inserted as Insertable<Tables[Name]>[])).compile();
    });
  const whole = create([]);
  const forms = new Map<string, typeof whole>();

  return (rows: readonly Item[]): Script<readonly Row[]> => {
    if (usualValues.length === 0) return whole(rows);
    const leftOut: (keyof Item)[] = [];
    for (const [column, value] of usualValues) if (rows.every((row) => row[column] === value)) leftOut.push(column);
    const name = leftOut.join();
    const known = forms.get(name);
    if (known) return known(rows);
    if (forms.size === MAX_FORMS) return whole(rows);
    const form = create(leftOut);
    forms.set(name, form);
    return form(rows);
  };
}

const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';
/**
 * PostgreSQL's clock at the execution of the statement, not at the start of its transaction; milliseconds since 1970.
 */
export const DATABASE_NOW = sql.raw<number>(NOW);
const READ_NOW = CompiledQuery.raw(`select ${NOW} as now`) as CompiledQuery<{ now: number }>;

/** Times are whole milliseconds since 1970. */
export class DatabaseClock {
  readonly #clock: Clock | undefined;
  /** The time of the execution, in a statement that is compiled once. */
  readonly compiledNow: RawBuilder<number>;

  /** @param clock Default: the database's own. */
  constructor(clock?: Clock) {
    this.#clock = clock;
    this.compiledNow = clock ? toSql(computed(() => Math.floor(clock.now()))) : DATABASE_NOW;
  }

  /** The time of the execution, in a statement that runs once. */
  get now(): RawBuilder<number> {
    return this.#clock ? toSql(Math.floor(this.#clock.now())) : DATABASE_NOW;
  }

  read(queries: Kysely<Tables>): Promise<number> {
    return runScript(queries, this.readScript());
  }

  /** Reads the time within a script. */
  *readScript(): Script<number> {
    if (this.#clock) return Math.floor(this.#clock.now());
    const [row] = yield* rowsOf(READ_NOW);
    return (row as { now: number }).now;
  }
}

function toSql(time: number): RawBuilder<number> {
  return sql<number>`cast(${time} as bigint)`;
}

/** PostgreSQL: acquires the lock of this name until the transaction ends. */
export function lockNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock(hashtext($1))', [name]);
}

/** PostgreSQL: acquires the lock of this name beside other sharers, but not beside {@link lockNamed}. */
export function shareNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock_shared(hashtext($1))', [name]);
}

/**
 * Makes foreign text storable on both engines: PostgreSQL has no U+0000 and no lone surrogates. Control characters
 * become blanks.
 * @param max Characters.
 */
export function storable(text: string, max: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  return plain.slice(0, max).toWellFormed();
}

/** Whether a name can exist at all: PostgreSQL rejects a text with U+0000. */
export function isStorable(name: string): boolean {
  return !name.includes('\u0000');
}

/** Above every other letter. */
const LAST_LETTER = '\u{10FFFF}';

/** Where a text is read from: its beginning, after its first word, or its last word. Words are separated by one blank. */
export type TextStart = 'whole' | 'second word' | 'last word';

/** SQLite has no function for a last word: what is left if all before the last blank is taken away. */
function startOf(engine: Engine, column: string, start: TextStart): string {
  if (start === 'whole') return column;
  if (engine === 'postgres') {
    return start === 'second word'
      ? `substr(${column}, strpos(${column}, ' ') + 1)`
      : `substring(${column} from '[^ ]*$')`;
  }
  if (start === 'second word') return `substr(${column}, instr(${column}, ' ') + 1)`;
  return `replace(${column}, rtrim(${column}, replace(${column}, ' ', '')), '')`;
}

function prefixText(engine: Engine, column: string, start: TextStart): string {
  return `lower(${startOf(engine, `"${column}"`, start)})${engine === 'postgres' ? ' collate "C"' : ''}`;
}

/**
 * Whether a text column, read from a place in it, begins with these letters, ignoring case (on SQLite of ASCII letters
 * alone). It reads along an index of {@link prefixIndex} of the column and the place.
 */
export function beginsWith(
  engine: Engine,
  column: string,
  prefix: string,
  start: TextStart = 'whole',
): RawBuilder<boolean> {
  const text = sql.raw(prefixText(engine, column, start));
  return sql<boolean>`(${text} >= lower(${prefix}) and ${text} < lower(${prefix + LAST_LETTER}))`;
}

/** The statement of an index for {@link beginsWith}, for a migration. */
export function prefixIndex(
  name: string,
  table: string,
  column: string,
  start: TextStart = 'whole',
): (engine: Engine) => string {
  return (engine) => `create index ${name} on ${table} (${prefixText(engine, column, start)})`;
}

/** Rows per statement: a process that adds a row deletes more than one, so that expired ones cannot accumulate. */
const ROWS = 100;

export interface ExpiringTable {
  engine: Engine;
  /** Has a column `expiresAt`. */
  table: keyof Tables;
  /** Its primary key. */
  key: string;
}

/** Deletes some of the rows that expired before `at`; skips those that another process deletes. */
export async function deleteExpired(queries: Kysely<Tables>, table: ExpiringTable, at: number): Promise<void> {
  await deleteSome(queries, table, sql`where "expiresAt" <= ${at} order by "expiresAt" limit ${ROWS}`);
}

/** Deletes some of the rows beyond the latest so many. */
export async function deleteBeyond(queries: Kysely<Tables>, table: ExpiringTable, max: number): Promise<void> {
  await deleteSome(queries, table, sql`order by "expiresAt" desc limit ${ROWS} offset ${max}`);
}

async function deleteSome(
  queries: Kysely<Tables>,
  { engine, table, key }: ExpiringTable,
  which: ReturnType<typeof sql>,
): Promise<void> {
  const [name, id] = [sql.table(table), sql.ref(key)];
  const lock = engine === 'postgres' ? sql`for update skip locked` : sql``;
  await sql`delete from ${name} where ${id} in (select ${id} from ${name} ${which} ${lock})`.execute(queries);
}
