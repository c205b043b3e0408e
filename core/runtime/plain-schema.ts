/*
 * Checks a value against a JSON schema by reading the schema, without compiling it. Ajv makes a function of a schema,
 * which is fast at the thousandth value, but loading Ajv and compiling takes a quarter of the work of a start, where
 * most schemas see one value. Only plain schemas are read: those whose keywords stand in the table below and have usual
 * values. What is accepted here is accepted by Ajv as well, with the same defaults (a test compares both). What is not
 * accepted may still be valid: Ajv decides, and words the errors.
 */

type Schema = Readonly<Record<string, unknown>>;
type Keyword = (given: unknown, value: unknown, schema: Schema) => boolean;

/** Whether a value can be that of the keyword in a plain schema. */
const KNOWN: Readonly<Record<string, (given: unknown, schema: Schema) => boolean>> = {
  type: (given) => [given].flat().every((name) => typeof name === 'string' && Object.hasOwn(TYPES, name)),
  properties: areSchemas,
  patternProperties: (given) => areSchemas(given) && Object.keys(given as object).every(isPattern),
  additionalProperties: (given) => typeof given === 'boolean' || isPlain(given),
  required: (given, { properties }) =>
    Array.isArray(given) && given.every((name) => isObject(properties) && Object.hasOwn(properties, name)),
  items: isPlain,
  // Ajv ignores defaults in alternatives, and refuses the schema.
  anyOf: (given) => Array.isArray(given) && given.every((schema) => isPlain(schema) && !hasDefault(schema)),
  const: isSimple,
  enum: (given) => Array.isArray(given) && given.every(isSimple),
  pattern: (given) => typeof given === 'string' && isPattern(given),
  minLength: isNumber,
  maxLength: isNumber,
  minItems: isNumber,
  maxItems: isNumber,
  minProperties: isNumber,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  default: (given) => given !== undefined,
  title: isAny,
  description: isAny,
  examples: isAny,
};

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  number: isNumber,
  integer: (value) => Number.isInteger(value),
  array: Array.isArray,
  object: isObject,
};

/** Whether a value satisfies a keyword, for those that are not only words. */
const CHECKS: Readonly<Record<string, Keyword>> = {
  type: (given, value) => [given as string | string[]].flat().some((name) => TYPES[name]?.(value)),
  required: (given, value) => !isObject(value) || (given as string[]).every((name) => value[name] !== undefined),
  properties: (given, value) => !isObject(value) || haveProperties(given as Record<string, Schema>, value),
  patternProperties: (given, value) =>
    !isObject(value) ||
    Object.entries(given as Record<string, Schema>).every(([pattern, schema]) =>
      namesOf(value).every((name) => !new RegExp(pattern, 'u').test(name) || satisfies(schema, value[name])),
    ),
  additionalProperties: (given, value, schema) =>
    given === true ||
    !isObject(value) ||
    namesOf(value)
      .filter((name) => isAdditional(name, schema))
      .every((name) => given !== false && satisfies(given as Schema, value[name])),
  items: (given, value) => !Array.isArray(value) || haveItems(given as Schema, value),
  anyOf: (given, value) => (given as Schema[]).some((schema) => satisfies(schema, value)),
  const: (given, value) => value === given,
  enum: (given, value) => (given as unknown[]).includes(value),
  pattern: (given, value) => typeof value !== 'string' || new RegExp(given as string, 'u').test(value),
  minLength: (given, value) => typeof value !== 'string' || charactersOf(value) >= (given as number),
  maxLength: (given, value) => typeof value !== 'string' || charactersOf(value) <= (given as number),
  minItems: (given, value) => !Array.isArray(value) || value.length >= (given as number),
  maxItems: (given, value) => !Array.isArray(value) || value.length <= (given as number),
  minProperties: (given, value) => !isObject(value) || Object.keys(value).length >= (given as number),
  minimum: (given, value) => typeof value !== 'number' || value >= (given as number),
  maximum: (given, value) => typeof value !== 'number' || value <= (given as number),
  exclusiveMinimum: (given, value) => typeof value !== 'number' || value > (given as number),
  exclusiveMaximum: (given, value) => typeof value !== 'number' || value < (given as number),
};

/** Whether {@link satisfies} can read the schema. */
export function isPlain(schema: unknown): schema is Schema {
  return (
    isObject(schema) &&
    Object.entries(schema).every(([name, given]) => Object.hasOwn(KNOWN, name) && KNOWN[name]?.(given, schema))
  );
}

/**
 * Whether a value certainly satisfies a plain schema. Fills its defaults into the value, also where the answer is no.
 * @param schema One that {@link isPlain}.
 */
export function satisfies(schema: Schema, value: unknown): boolean {
  fillDefaults(schema, value);
  for (const name in schema) {
    const check = CHECKS[name];
    if (check && !check(schema[name], value, schema)) return false;
  }
  return true;
}

/** Before anything is checked: a required property may have a default. */
function fillDefaults({ properties }: Schema, value: unknown): void {
  if (!isObject(properties) || !isObject(value)) return;
  for (const [name, property] of Object.entries(properties as Record<string, Schema>))
    if (property.default !== undefined && value[name] === undefined) value[name] = structuredClone(property.default);
}

function haveProperties(properties: Readonly<Record<string, Schema>>, value: Record<string, unknown>): boolean {
  return Object.entries(properties).every(
    ([name, schema]) => value[name] === undefined || satisfies(schema, value[name]),
  );
}

function haveItems(schema: Schema, list: unknown[]): boolean {
  if (schema.default !== undefined) return false;
  return list.every((item) => satisfies(schema, item));
}

function isAdditional(name: string, { properties, patternProperties }: Schema): boolean {
  if (isObject(properties) && Object.hasOwn(properties, name)) return false;
  return !isObject(patternProperties) || !Object.keys(patternProperties).some((key) => new RegExp(key, 'u').test(name));
}

/** As Ajv finds them, inherited ones too. */
function namesOf(value: object): string[] {
  const names = [];
  for (const name in value) names.push(name);
  return names;
}

/** JSON Schema counts code points. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Ajv passes over a property of this one name. */
function areSchemas(given: unknown): boolean {
  return isObject(given) && !Object.hasOwn(given, '__proto__') && Object.values(given).every(isPlain);
}

function hasDefault(schema: Schema): boolean {
  return JSON.stringify(schema).includes('"default":');
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') !== undefined;
  } catch {
    return false;
  }
}

/** What two values are equal in without a look into them. */
function isSimple(given: unknown): boolean {
  return given === null || ['string', 'boolean'].includes(typeof given) || isNumber(given);
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAny(): boolean {
  return true;
}
