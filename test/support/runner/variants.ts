/**
 * Variants of one subject: the same test with another page, language, kill point, format or stack. `npm run test:long` runs all of
 * them. `npm test` runs one of each kind, which fails when the subject breaks. A long run finds the files by their import of this one.
 */

import type { Stack } from '../databases/stacks.js';

/** Whether all variants run. */
export const isLongRun = process.env.TEST_LONG === '1';

/** Variants of a run: all in a long one, else the kept ones. */
export function variants<T>(all: readonly T[], isKept: (variant: T) => boolean): readonly T[] {
  return isLongRun ? all : all.filter(isKept);
}

/**
 * Named variants of a run.
 * @param kept Names of those that every run has. Default: none.
 * @throws Error if a kept one does not exist, so that a new name cannot empty a run.
 */
export function namedVariants<T>(all: Readonly<Record<string, T>>, kept: readonly string[] = []): [string, T][] {
  const missing = kept.filter((name) => !(name in all));
  if (missing.length > 0) throw new Error(`There is no variant ${missing.join(', ')}.`);
  return Object.entries(all).filter(([name]) => isLongRun || kept.includes(name));
}

/**
 * Variants of a run by what they hold: all in a long one, else each that holds something which none before it holds.
 * @param held What a variant holds, such as the checks that refuse it.
 */
export function firstVariants<T>(all: readonly T[], held: (variant: T) => readonly string[]): readonly T[] {
  const seen = new Set<string>();
  return variants(all, (variant) => {
    const isNew = held(variant).some((each) => !seen.has(each));
    if (isNew) for (const each of held(variant)) seen.add(each);
    return isNew;
  });
}

/** As `it`. */
type DefineTest = (title: string, test: (this: Mocha.Context) => PromiseLike<unknown> | undefined) => void;

/** A test that only a long run has: another test of the file is of its kind. */
export const longIt: DefineTest = isLongRun
  ? (title, test) => void it(title, test as Mocha.AsyncFunc)
  : () => undefined;

/**
 * `it` for a suite on both stacks, for tests of what has no SQL and no file of its own: the second stack has them in a long run
 * alone. Use `it` itself for one test of each statement and file that the suite holds.
 */
export function onceIt(stack: Stack): DefineTest {
  return stack.isFirst ? (title, test) => void it(title, test as Mocha.AsyncFunc) : longIt;
}
