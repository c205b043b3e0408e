/*
 * The schema builder. The build bundles the package into this file, because loading its 373 files one by one takes
 * several times as long. `field` and `optional` add descriptions for the API reference.
 */

import Type, { type TSchema } from 'typebox';

/**
 * The schema builder. The build bundles the package into this file: loading its 373 files one by one takes several
 * times as long.
 */
export { default as Type, type Static, type TObject, type TSchema } from 'typebox';

/**
 * A copy of a schema with a description, for the API reference and the documentation.
 * @param example A valid value. Default: none.
 */
export function field<Schema extends TSchema>(schema: Schema, description: string, example?: unknown): Schema {
  const copy: unknown = Object.defineProperties({}, Object.getOwnPropertyDescriptors<object>(schema));
  return Object.assign(copy as Schema, { description, ...(example !== undefined && { examples: [example] }) });
}

/** A copy of a schema with a description, for a field that may be absent. */
export function optional<Schema extends TSchema>(schema: Schema, description: string, example?: unknown) {
  return Type.Optional(field(schema, description, example));
}
