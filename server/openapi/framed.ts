import type { TObject, TSchema } from 'mediagate';
import { Type } from 'mediagate';

/** Members that the wire adds, by the member of the document that they are put into. */
type Additions = Readonly<Record<string, Readonly<Record<string, TSchema>>>>;

/**
 * A schema of the core, in which absent is absent, as the wire shows it: what is unknown is null, or not there. Members may be
 * added.
 */
export function framed(schema: TObject, additions: Additions = {}): TSchema {
  const required: readonly string[] = schema.required ?? [];
  const members = Object.entries(schema.properties).map(([name, member]): [string, TSchema] => {
    const shown = frame(member, additions[name]);
    const isCertain = required.includes(name) || additions[name] !== undefined;
    return [name, isCertain ? shown : Type.Optional(Type.Union([shown, Type.Null()]))];
  });
  return Type.Object(Object.fromEntries(members));
}

function frame(schema: TSchema, added: Readonly<Record<string, TSchema>> = {}): TSchema {
  if (isObject(schema)) {
    const shown = framed(schema) as TObject;
    return Type.Object({ ...shown.properties, ...added });
  }
  if (isRecord(schema)) {
    const [value = Type.Unknown()] = Object.values(schema.patternProperties);
    return Type.Record(Type.String(), Type.Union([value, Type.Null()]));
  }
  if (isArray(schema)) return Type.Array(frame(schema.items));
  return schema;
}

function isObject(schema: TSchema): schema is TObject {
  return 'properties' in schema;
}

function isArray(schema: TSchema): schema is TSchema & { items: TSchema } {
  return 'items' in schema;
}

function isRecord(schema: TSchema): schema is TSchema & { patternProperties: Readonly<Record<string, TSchema>> } {
  return 'patternProperties' in schema;
}
