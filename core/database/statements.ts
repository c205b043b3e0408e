/*
 * Statements of the hot path are compiled once; each run uses their text with other parameters, in the order of the
 * text, because compiling costs more than running. Lists run in chunks whose lengths are powers of two, so a statement
 * has few forms. A `Script` is a generator of statements that runs asynchronously or, on SQLite, synchronously.
 * PostgreSQL prepares a statement after five uses, at most 256 of them per process. The file also has named locks,
 * deletion of expired rows in batches, the clock of the database, and the cleaning of text for storage.
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

/** Maximum rows or values per statement. */
const MAX_PIECE = 256;

export function filled<Row>(query: CompiledQuery<Row>, parameters: readonly unknown[]): CompiledQuery<Row> {
  return { ...query, parameters };
}

/** PostgreSQL: acquires the lock of this name until the transaction ends. */
export function lockNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock(hashtext($1))', [name]);
}

/** PostgreSQL: acquires the lock of this name beside other sharers, but not beside {@link lockNamed}. */
export function shareNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock_shared(hashtext($1))', [name]);
}

/** Runs a {@link createListScript}. */
export function createListStatement<Row>(compile: (length: number) => CompiledQuery<Row>) {
  const script = createListScript(compile);
  return (queries: Kysely<Tables>, items: readonly (readonly unknown[])[]): Promise<readonly Row[]> =>
    runScript(queries, script(items));
}

/**
 * A statement with a list of any length: it runs in chunks with powers of two as lengths, so that it is compiled in few
 * forms.
 * @param compile Compiles it for a list of that length, with no parameters but those of the list.
 * @param add Adds the parameters of one item. Default: an item is the list of its parameters.
 */
export function createListScript<Row, Item = readonly unknown[]>(
  compile: (length: number) => CompiledQuery<Row>,
  add: (item: Item, parameters: unknown[]) => void = addAll,
) {
  const compiled = new Map<number, CompiledQuery<Row>>();

  function compiledFor(length: number): CompiledQuery<Row> {
    const known = compiled.get(length);
    if (known) return known;
    const made = compile(length);
    compiled.set(length, made);
    return made;
  }

  /** The rows that all chunks return. */
  return function* (items: readonly Item[]): Script<readonly Row[]> {
    let found: readonly Row[] = [];
    for (let begun = 0; begun < items.length; ) {
      const length = Math.min(MAX_PIECE, 2 ** Math.floor(Math.log2(items.length - begun)));
      const parameters: unknown[] = [];
      for (let index = begun; index < begun + length; index += 1) add(items[index] as Item, parameters);
      const rows = yield* rowsOf(filled(compiledFor(length), parameters));
      found = begun === 0 ? rows : [...found, ...rows];
      begun += length;
    }
    return found;
  };
}

function addAll(item: unknown, parameters: unknown[]): void {
  for (const parameter of item as readonly unknown[]) parameters.push(parameter);
}

type Insert<Name extends keyof Tables> = InsertQueryBuilder<Tables, Name, InsertResult>;

export interface RowInsertOptions<Name extends keyof Tables, Row> {
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  table: Name;
  /** Any row; all have the same columns. */
  sample: Required<Insertable<Tables[Name]>>;
  /** Values that all rows share: written as literals, since a parameter costs as much as a column. Default: none. */
  alike?: Partial<Insertable<Tables[Name]>>;
  /** SQL after the rows. Default: none. */
  finish?(insert: Insert<Name>): Compilable<Row>;
}

/** Inserts several rows at once, with statements that are compiled once; returns what they return. */
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

/** Uses after which the server caches a statement. */
const USES = 5;
/** Each costs every connection some kilobytes at the server. */
const MAX_NAMES = 256;
/** Maximum number of statement texts that are counted; those with lists have ever new forms. */
const MAX_COUNTED = 2_000;
const CACHEABLE = /^(select|insert|update|delete|with)\b/;
/**
 * A statement that returns all columns returns others after a migration has added one, which the server refuses for a
 * prepared statement.
 */
const ALL_COLUMNS = /(\.|\breturning |\bselect )"?\*/;

export type StatementNames = (text: string) => string | undefined;

/**
 * Names of statements that PostgreSQL caches, parsed and planned, once they have been used a few times: the same name
 * for the same text on every connection of this process. Undefined for a text that is not cached.
 */
export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  let named = 0;

  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    const count = (uses.get(text) ?? 0) + 1;
    if (uses.size >= MAX_COUNTED) uses.clear();
    uses.set(text, count);
    if (count < USES || named >= MAX_NAMES || !CACHEABLE.test(text) || ALL_COLUMNS.test(text)) return undefined;
    named += 1;
    uses.delete(text);
    const name = `mediagate_${named}`;
    names.set(text, name);
    return name;
  };
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

const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';
/**
 * PostgreSQL's clock at the execution of the statement, not at the start of its transaction; milliseconds since 1970.
 */
export const DATABASE_NOW = sql.raw<number>(NOW);
const READ_NOW = CompiledQuery.raw(`select ${NOW} as now`) as CompiledQuery<{ now: number }>;

/** The clock of all jobs. */
export interface DatabaseClock {
  /** The time of the statement's execution, in milliseconds since 1970. */
  readonly now: RawBuilder<number>;
  /** Parameters of `now` in a precompiled statement. */
  parameters(): readonly number[];
  read(queries: Kysely<Tables>): Promise<number>;
  /** Reads the time within a script. */
  readScript(): Script<number>;
}

/** @param clock Default: the database's own. */
export function createDatabaseClock(clock?: Clock): DatabaseClock {
  function* readScript(): Script<number> {
    if (clock) return Math.floor(clock.now());
    const [row] = yield* rowsOf(READ_NOW);
    return (row as { now: number }).now;
  }

  const now = () => (clock ? sql<number>`cast(${Math.floor(clock.now())} as bigint)` : DATABASE_NOW);
  return {
    get now() {
      return now();
    },
    parameters: () => (clock ? [Math.floor(clock.now())] : []),
    read: (queries) => runScript(queries, readScript()),
    readScript,
  };
}
