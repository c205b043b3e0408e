/*
 * Validates values against JSON schemas; every check of the gateway uses this function. Values are never coerced, and
 * defaults are filled into a copy. The first valid values are checked without Ajv (`plain-schema.ts`), so that a start
 * need not load it; a schema that is used often, or whose value is refused, is compiled, once for all that
 * are equal. Messages name the field and what it must be, quote no value, and use the schema's title in place of a regular expression. For a mistyped field name they offer
 * the closest match: at most two edits for names of six letters or more, one for shorter names.
 */

import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { isPlain, satisfies } from './plain-schema.js';

const MAX_NAME = 100;
/** Values that are checked before a schema is compiled: more than a start has of any, fewer than a busy gateway a minute. */
const UNCOMPILED_CHECKS = 100;

/** One problem of a value. */
export interface Issue {
  /** Dotted path of the field, empty for the value itself. */
  path: string;
  /** The JSON Schema keyword that failed, e.g. `maximum`. */
  keyword: string;
  /**
   * The rest of a sentence that starts with the field, e.g. `must be <= 3`. It quotes no value, but may contain a field
   * name.
   */
  message: string;
  params: Readonly<Record<string, unknown>>;
}

export type Checked<Value> = { ok: true; value: Value } | { ok: false; issues: readonly Issue[] };

export interface Validator<Value> {
  /** Never coerces. If the schema has defaults, they are filled into a copy; the input is not changed. */
  check(value: unknown): Checked<Value>;
}

let ajv: Ajv2020 | undefined;

function sharedAjv(): Ajv2020 {
  ajv ??= openAjv();
  return ajv;
}

/** Its 83 files are loaded with the first schema that is compiled. */
function openAjv(): Ajv2020 {
  const library = createRequire(import.meta.url)('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  return new library.Ajv2020({
    allErrors: false,
    coerceTypes: false,
    useDefaults: true,
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
    // Errors then contain the failed part of the schema, which is more informative.
    verbose: true,
    // Its schema of schemas takes 40 ms to compile, in every process; a keyword with a wrong value is refused without it.
    validateSchema: false,
    meta: false,
    // Its own optimizer takes half of the time of a compilation, all at the start of a process; V8 optimizes the code anyway.
    code: { optimize: false },
  });
}

/** By the JSON of their schema: each gateway of a process, and each load of a plugin, makes equal schemas anew. Ajv would keep every one. */
const compiled = new Map<string, ValidateFunction>();

function compile(schema: TSchema, text: string): ValidateFunction {
  const validate = compiled.get(text) ?? sharedAjv().compile(schema);
  compiled.set(text, validate);
  return validate;
}

/** A validator for a schema. All validation of the gateway uses this function. */
export function createValidator<Schema extends TSchema>(schema: Schema): Validator<Static<Schema>> {
  const text = JSON.stringify(schema);
  const copies = text.includes('"default"');
  const copyOf = (value: unknown) => (copies ? structuredClone(value) : value);
  let validate: ValidateFunction | undefined;
  let plain: Readonly<Record<string, unknown>> | false | undefined;
  let checks = 0;
  return {
    check(value) {
      if (!validate && checks++ < UNCOMPILED_CHECKS) {
        plain ??= isPlain(schema) && schema;
        const candidate = copyOf(value);
        if (plain && satisfies(plain, candidate)) return { ok: true, value: candidate as Static<Schema> };
      }
      validate ??= compile(schema, text);
      const candidate = copyOf(value);
      if (validate(candidate)) return { ok: true, value: candidate as Static<Schema> };
      const issues = (validate.errors ?? []).map((error) => ({
        path: fieldPath(error.instancePath, error.keyword === 'required' ? error.params.missingProperty : undefined),
        keyword: error.keyword,
        message: messageOf(error),
        params: error.params,
      }));
      return { ok: false, issues };
    },
  };
}

/** Clearer messages where Ajv's own are hard to understand. */
function messageOf({ keyword, params, parentSchema, message = keyword }: ErrorObject): string {
  const { additionalProperty } = params;
  if (keyword === 'additionalProperties' && typeof additionalProperty === 'string') {
    const match = closestMatch(additionalProperty.slice(0, MAX_NAME), Object.keys(parentSchema?.properties ?? {}));
    const unknown = `must not have ${JSON.stringify(additionalProperty.slice(0, MAX_NAME))}, which is not known`;
    return match === undefined ? unknown : `${unknown}; "${match}" is`;
  }
  // A regular expression is for programs: if the schema has a title, which names the form, it is used.
  if (keyword === 'pattern' && typeof parentSchema?.title === 'string') return `must be ${parentSchema.title}`;
  return message;
}

function fieldPath(pointer: string, missing?: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (missing !== undefined) parts.push(missing);
  return parts.join('.');
}

/** In longer names two edits may be a typo; in shorter ones they make another word. */
const LONG_NAME = 6;
const MAX_EDITS = 2;

/**
 * The closest match for a mistyped name, by edits (a letter too many, too few, another one, or two neighbours swapped):
 * at most two for a name of six letters or more, and one for a shorter name.
 * @param mayBeMeant Whether a close name is a candidate. Default: each is.
 */
export function closestMatch(
  name: string,
  known: Iterable<string>,
  mayBeMeant: (candidate: string) => boolean = () => true,
): string | undefined {
  let closest: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    // For most pairs the lengths or the letters that they have decide, without comparing one by one.
    if (Math.abs(name.length - candidate.length) > MAX_EDITS || !mayBeClose(name, candidate)) continue;
    const edits = countEdits(name, candidate);
    if (edits > (candidate.length < LONG_NAME ? 1 : MAX_EDITS) || !mayBeMeant(candidate)) continue;
    if (!closest || edits < closest.edits) closest = { name: candidate, edits };
  }
  return closest?.name;
}

/** False only for names that are further apart: an edit replaces one kind of letter by another at most. */
function mayBeClose(one: string, other: string): boolean {
  let differing = lettersOf(one) ^ lettersOf(other);
  let count = 0;
  for (; differing !== 0; differing &= differing - 1) count += 1;
  return count <= 2 * MAX_EDITS;
}

/** A bit for each kind of letter; several kinds share one. */
function lettersOf(name: string): number {
  let letters = 0;
  for (let index = 0; index < name.length; index++) letters |= 1 << (name.charCodeAt(index) & 31);
  return letters;
}

/** By rows of the usual table, of which the last three are enough to detect a swap. */
function countEdits(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}
