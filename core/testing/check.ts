import assert from 'node:assert';

/** One rule of the kit: a name for the report, and a run that throws where the rule is broken. */
export interface Check {
  readonly name: string;
  run(): Promise<unknown>;
}

/** Fails with all that is wrong, one line each. */
export function reportAll(problems: readonly string[]): void {
  assert(problems.length === 0, `\n  ${problems.join('\n  ')}`);
}

/** Hands checks to the test runner's globals, which are there only while it runs. */
export function describeChecks(title: string, checks: readonly Check[]): void {
  describe(title, () => {
    for (const check of checks) it(check.name, () => check.run());
  });
}
