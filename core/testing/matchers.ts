/*
 * Matchers for the expected result of a sample, and `compare`, which reports each difference with its path. Objects may
 * have further fields; lists must have the same length.
 */

/** An expectation of one value, for the `expect` of a sample. */
export interface Matcher {
  readonly [MATCHER]: true;
  /** As text, for the report. */
  readonly wanted: string;
  test(value: unknown): boolean;
}

const MATCHER = Symbol.for('mediagate.testing.matcher');

function matcher(wanted: string, test: (value: unknown) => boolean): Matcher {
  return { [MATCHER]: true, wanted, test };
}

function isMatcher(value: unknown): value is Matcher {
  return typeof value === 'object' && value !== null && MATCHER in value;
}

/** A text that the expression matches. */
export function matching(expression: RegExp): Matcher {
  return matcher(`a text like ${expression}`, (value) => typeof value === 'string' && value.search(expression) >= 0);
}

export function startsWith(start: string): Matcher {
  return matcher(
    `a text that starts with ${show(start)}`,
    (value) => typeof value === 'string' && value.startsWith(start),
  );
}

export function containing(part: string): Matcher {
  return matcher(
    `something with ${show(part)} in it`,
    (value) => (typeof value === 'string' || Array.isArray(value)) && value.includes(part),
  );
}

/** A list of exactly n. */
export function count(n: number): Matcher {
  return matcher(`${n} of them`, (value) => Array.isArray(value) && value.length === n);
}

/** A number of at least n, or a list of at least n elements. */
export function atLeast(n: number): Matcher {
  return matcher(`at least ${n}`, (value) => (Array.isArray(value) ? value.length : numberOf(value)) >= n);
}

/** A number within the tolerance of n. */
export function approximately(n: number, tolerance: number): Matcher {
  return matcher(`${n} ± ${tolerance}`, (value) => Math.abs(numberOf(value) - n) <= tolerance);
}

/** The same instant, in any notation. */
export function isoTime(text: string): Matcher {
  const instant = Date.parse(text);
  if (Number.isNaN(instant)) throw new TypeError(`isoTime: ${show(text)} is not a time`);
  return matcher(`the time ${text}`, (value) => typeof value === 'string' && Date.parse(value) === instant);
}

export function oneOf(...values: readonly unknown[]): Matcher {
  return matcher(`one of ${values.map(show).join(', ')}`, (value) =>
    values.some((wanted) => compare(wanted, value).length === 0),
  );
}

/** The field is absent. */
export const absent: Matcher = matcher('nothing', (value) => value === undefined);

/** The field is present, with any value. */
export const present: Matcher = matcher('something', (value) => value !== undefined);

/**
 * The differences, one line each; empty if the value is as expected. Objects may have additional fields, lists are
 * compared element by element and must have the same length.
 */
export function compare(expected: unknown, actual: unknown, path = ''): string[] {
  if (isMatcher(expected)) return expected.test(actual) ? [] : [line(path, expected.wanted, actual)];
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [line(path, show(expected), actual)];
    const length = expected.length === actual.length ? [] : [line(path, `${expected.length} elements`, actual)];
    return [...length, ...expected.flatMap((element, index) => compare(element, actual[index], `${path}[${index}]`))];
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return [line(path, show(expected), actual)];
    const fields: Readonly<Record<string, unknown>> = { ...actual };
    return Object.entries(expected).flatMap(([name, field]) =>
      compare(field, Object.hasOwn(fields, name) ? fields[name] : undefined, path ? `${path}.${name}` : name),
    );
  }
  return Object.is(expected, actual) ? [] : [line(path, show(expected), actual)];
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

function line(path: string, wanted: string, actual: unknown): string {
  return `${path || '(root)'}: expected ${wanted}, got ${show(actual)}`;
}

/** Short enough to read in a report. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
