import type { CompiledQuery, Kysely } from './kysely.js';
import type { Tables } from './tables.js';

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
