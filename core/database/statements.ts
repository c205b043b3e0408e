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

/*
 * Statements of the hot path are built once; what is run is their text with other parameters, in the order of the text.
 * Building one costs more than running it.
 */

/** Rows or values that one statement takes at most. */
const MAX_PIECE = 256;

export function filled<Row>(query: CompiledQuery<Row>, parameters: readonly unknown[]): CompiledQuery<Row> {
  return { ...query, parameters };
}

/** PostgreSQL: until the transaction ends, nobody else has the lock of this name. */
export function lockNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock(hashtext($1))', [name]);
}

/** Runs a {@link createListScript}. */
export function createListStatement<Row>(compile: (length: number) => CompiledQuery<Row>) {
  const script = createListScript(compile);
  return (runner: Kysely<Tables>, items: readonly (readonly unknown[])[]): Promise<readonly Row[]> =>
    play(runner, script(items));
}

/**
 * A statement with a list in it, for lists of any length: run in pieces whose lengths are powers of two, so that it is built
 * in few forms.
 * @param compile Builds it for a list of that length, with no parameters but those of the list.
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

  /** What the statement returns, of all pieces together. */
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

/**
 * Statements one after the other, each made of what those before it found, and what comes of them: run as the answers come,
 * or at once where the engine gives them at once. It waits for nothing else.
 */
export type Script<Result> = Generator<CompiledQuery, Result, readonly unknown[]>;

/** One statement; the rows that it gives. */
export function* rowsOf<Row>(query: CompiledQuery<Row>): Script<readonly Row[]> {
  return (yield query) as readonly Row[];
}

/** Runs a script as the answers come. */
export async function play<Result>(runner: Kysely<Tables>, script: Script<Result>): Promise<Result> {
  let step = script.next();
  while (!step.done) step = script.next((await runner.executeQuery(step.value)).rows);
  return step.value;
}

/** Runs a script at once. @param rowsOfQuery Runs a statement. */
export function playAtOnce<Result>(
  script: Script<Result>,
  rowsOfQuery: (query: CompiledQuery) => readonly unknown[],
): Result {
  let step = script.next();
  while (!step.done) step = script.next(rowsOfQuery(step.value));
  return step.value;
}

/** Uses after which a statement is worth keeping at the server. */
const USES = 5;
/** Each costs every connection some kilobytes at the server. */
const MAX_NAMES = 256;
/** Texts whose uses are counted; those with lists of any length in them come in ever new forms. */
const MAX_COUNTED = 2_000;
const KEPT = /^(select|insert|update|delete|with)\b/;
/** What gives all columns of a table gives others once a migration has added one, which the server refuses to do. */
const ALL_COLUMNS = /(\.|\breturning |\bselect )"?\*/;

export type StatementNames = (text: string) => string | undefined;

/**
 * Names under which PostgreSQL keeps a statement, parsed and planned, once it has been used a few times: the same name for
 * the same text on every connection of this process. Undefined for what is not kept.
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
    if (count < USES || named >= MAX_NAMES || !KEPT.test(text) || ALL_COLUMNS.test(text)) return undefined;
    named += 1;
    uses.delete(text);
    const name = `mediagate_${named}`;
    names.set(text, name);
    return name;
  };
}

/**
 * Text of strangers as both engines keep it: PostgreSQL has no U+0000 and no lone surrogates. Control characters become
 * blanks.
 * @param most Characters.
 */
export function storable(text: string, most: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  return plain.slice(0, most).toWellFormed();
}

/** Whether a name may be there at all: PostgreSQL does not even look for a text with U+0000 in it. */
export function isStorable(name: string): boolean {
  return !name.includes('\u0000');
}

/** Of one statement: whoever adds a row deletes more than one, so that old ones cannot heap up. */
const ROWS = 100;

export interface ExpiringTable {
  engine: Engine;
  /** Has a column `expiresAt`. */
  table: keyof Tables;
  /** Its primary key. */
  key: string;
}

/** Deletes some of the rows whose time was over before `at`; those that somebody else deletes are left to them. */
export async function deleteExpired(queries: Kysely<Tables>, table: ExpiringTable, at: number): Promise<void> {
  await deleteSome(queries, table, sql`where "expiresAt" <= ${at} order by "expiresAt" limit ${ROWS}`);
}

/** Deletes some of the rows beyond the latest so many. */
export async function deleteBeyond(queries: Kysely<Tables>, table: ExpiringTable, most: number): Promise<void> {
  await deleteSome(queries, table, sql`order by "expiresAt" desc limit ${ROWS} offset ${most}`);
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
/** What PostgreSQL's clock says when the statement runs, not when its transaction began; milliseconds since 1970. */
export const DATABASE_NOW = sql.raw<number>(NOW);
const READ_NOW = CompiledQuery.raw(`select ${NOW} as now`) as CompiledQuery<{ now: number }>;

/** The one clock of all jobs. */
export interface DatabaseClock {
  /** The time when the statement runs, in milliseconds since 1970. */
  readonly now: RawBuilder<number>;
  /** Parameters of `now` in a statement that was compiled before. */
  parameters(): readonly number[];
  read(queries: Kysely<Tables>): Promise<number>;
  /** The same within a script. */
  look(): Script<number>;
}

/** @param clock Default: the database's own. */
export function createDatabaseClock(clock?: Clock): DatabaseClock {
  function* look(): Script<number> {
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
    read: (queries) => play(queries, look()),
    look,
  };
}
