import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';

/** One thing wrong with a value. */
export interface Issue {
  /** Dotted path of the member, empty for the value itself. */
  path: string;
  /** The JSON Schema keyword that failed, e.g. `maximum`. */
  keyword: string;
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
        message: error.message ?? error.keyword,
        params: error.params,
      }));
      return { ok: false, issues };
    },
  };
}

function memberPath(pointer: string, missing?: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (missing !== undefined) parts.push(missing);
  return parts.join('.');
}
