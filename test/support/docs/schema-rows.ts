/** Rows of a documentation table from a JSON schema. */

/** The keywords of JSON Schema that the schemas of the project use. */
export interface FieldSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly pattern?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly patternProperties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly FieldSchema[];
}

/** A field of a schema, for a row of a table. */
export interface SchemaField {
  /** Dotted, e.g. `media.entries[].url`. */
  path: string;
  type: string;
  description: string;
  /** Undefined without an example. */
  example?: unknown;
  isRequired: boolean;
  schema: FieldSchema;
}

/**
 * The fields below a schema, each followed by those that it contains. Fields that a described one contains again, such
 * as those of an author, are left out: the description of the second one refers to the first.
 */
export function fieldsOf(schema: FieldSchema, at = '', seen = new Map<object, string>()): SchemaField[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, declared]) => {
    const field = withoutNull(declared);
    const path = at === '' ? name : `${at}.${name}`;
    const { inner, place } = field.items ? { inner: field.items, place: `${path}[]` } : { inner: field, place: path };
    const key = inner.properties && JSON.stringify(inner.properties);
    const known = key === undefined ? undefined : [...seen].find(([other]) => JSON.stringify(other) === key)?.[1];
    if (inner.properties && known === undefined) seen.set(inner.properties, place);
    const description = declared.description ?? field.description ?? '';
    const row = {
      path,
      type: typeOf(field),
      description: known === undefined ? description : `${description} Its fields are those of \`${known}\`.`,
      example: declared.examples?.[0] ?? field.examples?.[0],
      isRequired: required.includes(name),
      schema: field,
    };
    return known === undefined ? [row, ...fieldsOf(inner, place, seen)] : [row];
  });
}

/** The schema without the alternative `null`. */
function withoutNull(schema: FieldSchema): FieldSchema {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null');
  const [only, ...more] = others ?? [];
  return only && more.length === 0 ? only : others ? { ...schema, anyOf: others } : schema;
}

/** What a field holds, in a word or two. */
function typeOf(schema: FieldSchema): string {
  const { type, pattern = '', items, anyOf, patternProperties } = withoutNull(schema);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (anyOf?.every((one) => one.const !== undefined)) return anyOf.map((one) => `\`${one.const}\``).join(', ');
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (type === 'array') return `list of ${items ? typeOf(items) : 'anything'}`;
  if (type === 'object' && patternProperties) return 'object by name';
  if (type === 'string')
    return pattern.startsWith('^https?') ? 'URL' : pattern.startsWith('^\\d{4}-') ? 'time' : 'text';
  return type === 'boolean' ? 'true or false' : (type ?? 'anything');
}
