import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { Static, TSchema } from '../contracts/index.js';
import { nearestName } from './near-names.js';

const MAX_NAME = 100;

/** One thing wrong with a value. */
export interface Issue {
  /** Dotted path of the member, empty for the value itself. */
  path: string;
  /** The JSON Schema keyword that failed, e.g. `maximum`. */
  keyword: string;
  /** What follows the name of the member in a sentence, e.g. `must be <= 3`. No value is repeated, but the name of a member may be. */
  message: string;
  params: Readonly<Record<string, unknown>>;
}

export type Checked<Value> = { ok: true; value: Value } | { ok: false; issues: readonly Issue[] };

export interface Validator<Value> {
  /** Never coerces. Where the schema has defaults, they are filled into a copy; the input is left alone. */
  check(value: unknown): Checked<Value>;
}

let ajv: Ajv2020 | undefined;

function sharedAjv(): Ajv2020 {
  ajv ??= new Ajv2020({
    allErrors: false,
    coerceTypes: false,
    useDefaults: true,
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
    // Errors then bring the part of the schema that was not met, which says more than they do.
    verbose: true,
  });
  return ajv;
}

/** A checker for a schema, compiled at its first use. All validation of the gateway goes through this one function. */
export function createValidator<Schema extends TSchema>(schema: Schema): Validator<Static<Schema>> {
  const copies = JSON.stringify(schema).includes('"default"');
  let validate: ReturnType<Ajv2020['compile']> | undefined;
  return {
    check(value) {
      validate ??= sharedAjv().compile(schema);
      const candidate = copies ? structuredClone(value) : value;
      if (validate(candidate)) return { ok: true, value: candidate as Static<Schema> };
      const issues = (validate.errors ?? []).map((error) => ({
        path: memberPath(error.instancePath, error.keyword === 'required' ? error.params.missingProperty : undefined),
        keyword: error.keyword,
        message: messageOf(error),
        params: error.params,
      }));
      return { ok: false, issues };
    },
  };
}

/** Where Ajv's own words would leave a person guessing, better ones. */
function messageOf({ keyword, params, parentSchema, message = keyword }: ErrorObject): string {
  const { additionalProperty } = params;
  if (keyword === 'additionalProperties' && typeof additionalProperty === 'string') {
    const near = nearestName(additionalProperty.slice(0, MAX_NAME), Object.keys(parentSchema?.properties ?? {}));
    const unknown = `must not have ${JSON.stringify(additionalProperty.slice(0, MAX_NAME))}, which is not known`;
    return near === undefined ? unknown : `${unknown}; "${near}" is`;
  }
  // A regular expression is for programs: where the schema says the same in words, those are used.
  if (keyword === 'pattern' && typeof parentSchema?.description === 'string')
    return `must be ${parentSchema.description}`;
  return message;
}

function memberPath(pointer: string, missing?: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (missing !== undefined) parts.push(missing);
  return parts.join('.');
}
