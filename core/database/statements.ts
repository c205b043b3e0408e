/*
 * A `Script` is a generator of statements that runs asynchronously or, on SQLite, synchronously. PostgreSQL prepares a
 * statement after five uses, at most 256 of them per process. The file also has named locks, deletion of expired rows
 * in batches, and the cleaning of text for storage.
 */

import type { Engine } from './database.js';
import { CompiledQuery, type Kysely, sql } from './kysely.js';
import type { Tables } from './tables.js';

/** PostgreSQL: acquires the lock of this name until the transaction ends. */
export function lockNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock(hashtext($1))', [name]);
}

/** PostgreSQL: acquires the lock of this name beside other sharers, but not beside {@link lockNamed}. */
export function shareNamed(name: string): CompiledQuery {
  return CompiledQuery.raw('select pg_advisory_xact_lock_shared(hashtext($1))', [name]);
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
