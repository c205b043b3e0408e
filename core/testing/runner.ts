/*
 * Runs the rules of a contract as checks of one plugin and registers them with the test runner. After a call that does
 * not end, the remaining checks of that plugin fail at once, since each would wait as long. A Node version that is too
 * old fails with a message that says so. What a check leaves running no longer keeps the test runner open.
 * `leakProblems` finds secrets and option values in a result, an error or the log.
 */

import assert from 'node:assert';
import { inspect } from 'node:util';
import { createHideOptions, namesServed } from '../plugins/index.js';
import { beginWork } from './left-running.js';
import { HangError, withinCheck } from './limits.js';
import type { TestSetup } from './setup.js';

/** One check of a plugin: a name for the report, and a run that throws if the rule is violated. */
export interface Check {
  readonly name: string;
  run(): Promise<unknown>;
}

/** A row of a contract's table. */
export interface Rule<Definition> {
  name: string;
  /** Default: to every definition. */
  applies?(definition: Definition): boolean;
  /** @throws if the rule is violated. */
  run(definition: Definition): unknown;
}

/** The rules of a contract; some depend on the samples of a definition. */
export type Table<Definition> = readonly (
  | Rule<Definition>
  | ((definition: Definition) => readonly Rule<Definition>[])
)[];

/** Plugins whose code did not end, by the error. Each further check would wait as long. */
const hanging = new WeakMap<object, HangError>();

/** The checks of one plugin. After a call that does not end, the others fail at once. */
export function checksOf<Definition extends { plugin: { readonly name: string } }>(
  table: Table<Definition>,
  definition: Definition,
): Check[] {
  const { plugin } = definition;
  return table
    .flatMap((row) => (typeof row === 'function' ? row(definition) : [row]))
    .filter(({ applies }) => applies?.(definition) ?? true)
    .map(({ name, run }) => ({ name, run: () => runCheck(plugin, name, async () => run(definition)) }));
}

const OLDEST_NODE = [22, 19] as const;

/** Why a version of Node is not supported, in words; undefined if it is. */
export function nodeProblem(version: string): string | undefined {
  const parts = version.split('.').map(Number);
  const differing = OLDEST_NODE.findIndex((part, index) => parts[index] !== part);
  if (differing < 0 || (parts[differing] ?? 0) > (OLDEST_NODE[differing] ?? 0)) return undefined;
  return `Node ${version} is too old: plugins and their tests need Node ${OLDEST_NODE.join('.')} or newer.`;
}

async function runCheck(
  plugin: { readonly name: string },
  check: string,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const work = beginWork();
  try {
    const problem = nodeProblem(process.versions.node);
    assert(problem === undefined, problem);
    const before = hanging.get(plugin);
    assert(!before, `not tried, since an earlier check failed: ${before?.message}`);
    return await work.run(() => withinCheck({ plugin: plugin.name, check }, run));
  } catch (error) {
    if (error instanceof HangError) hanging.set(plugin, error);
    throw withoutDifference(error);
  } finally {
    // Code that ignores its signal goes on. It must not keep the test runner open.
    work.end();
  }
}

/** Of an `assert` that failed, runners would show "-false +true" and, for it, leave out most of its message. */
function withoutDifference(error: unknown): unknown {
  const isOfTruth = error instanceof assert.AssertionError && error.expected === true;
  return isOfTruth ? Object.assign(error, { showDiff: false }) : error;
}

/** Registers checks with the test runner's globals, which exist only while it runs. */
export function describeChecks(title: string, checks: readonly Check[]): void {
  describe(title, () => {
    for (const check of checks) {
      it(check.name, function (this: { timeout?(ms: number): unknown } | undefined) {
        // The kit's own limits say what hangs.
        this?.timeout?.(0);
        return check.run();
      });
    }
  });
}

/** Fails with all problems, one line each. */
export function reportAll(problems: readonly string[]): void {
  assert(problems.length === 0, `\n  ${problems.join('\n  ')}`);
}

/** The problem as a list, unless all is well. */
export function unless(isWell: boolean, problem: string): string[] {
  return isWell ? [] : [problem];
}

/** What others may read of a run. */
export interface Readable {
  setup: TestSetup;
  error?: unknown;
  /** What a client reads of the result. */
  shown?: unknown;
}

/**
 * Texts in a run that must not be there, one line each: secrets, and every option of six characters or more, since a
 * message for clients or a log line may go anywhere.
 */
export function leakProblems(secrets: readonly string[], { setup, error, shown }: Readable): string[] {
  const text = inspect([shown, error, setup.logs], { depth: 20, maxStringLength: null, maxArrayLength: null });
  const served = [setup.context.id, ...namesServed(setup.contributions)];
  const shownOptions = Object.entries(setup.options).filter(
    ([, value]) => createHideOptions([value], served)(text) !== text,
  );
  return [
    ...secrets.flatMap((secret, index) =>
      unless(!text.includes(secret), `secret ${index + 1} shows in the result, the error or the log`),
    ),
    ...shownOptions.map(([name]) => `the value of the option "${name}" shows in the result, the error or the log`),
  ];
}
