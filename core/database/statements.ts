import { CompiledQuery, type Kysely } from './kysely.js';
import { play, rowsOf, type Script } from './script.js';
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
