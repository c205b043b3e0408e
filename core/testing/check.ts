import assert from 'node:assert';

/** One rule of the kit: a name for the report, and a run that throws if the rule is violated. */
export interface Check {
  readonly name: string;
  run(): Promise<unknown>;
}

/** Fails with all problems, one line each. */
export function reportAll(problems: readonly string[]): void {
  assert(problems.length === 0, `\n  ${problems.join('\n  ')}`);
}

/** Registers checks with the test runner's globals, which exist only while it runs. */
export function describeChecks(title: string, checks: readonly Check[]): void {
  describe(title, () => {
    for (const check of checks) it(check.name, () => check.run());
  });
}
