import { type ErrorCode, type TObject, type TSchema, Type } from 'mediagate';
import type { AnswerName } from './answer-schemas.js';

/** `key` is a bearer API key; `linkKey` may be in `X-API-Key` as well. */
export type Access = 'none' | 'key' | 'linkKey' | 'session' | 'signature';

export interface Answer {
  description: string;
  /** Default `application/json`. */
  type?: string;
  /** Default: the answer has no body, or bytes. */
  schema?: TSchema;
  /** Must be good by the schema: a test sees to it. */
  example?: unknown;
}

export interface RequestBody {
  /** Default `application/json`. */
  type?: 'multipart/form-data' | 'application/x-www-form-urlencoded';
  schema: TSchema;
  example?: unknown;
}

/** What the API reference says of a route besides its method and path. */
export interface Operation {
  /** Group that it stands in. */
  tag: 'Link data' | 'Images' | 'Models' | 'Account' | 'Payments' | 'Process' | 'Pages';
  summary: string;
  access: Access;
  query?: Readonly<Record<string, { schema: TSchema; description: string; required?: boolean }>>;
  /** Header fields of the request besides that of the key: name → what it does. */
  headers?: Readonly<Record<string, string>>;
  body?: RequestBody;
  /** By status. */
  answers: Readonly<Record<number, Answer>>;
  /** Besides those that follow from access and body. */
  errors?: readonly ErrorCode[];
  /** Schema of what it answers then. Default `Error`. */
  errorSchema?: AnswerName;
}

/** Method and path as the router has them, with a space between. */
export type Operations = Readonly<Record<string, Operation>>;

export const IDEMPOTENCY = {
  'Idempotency-Key': 'The same key with the same body is answered as the first request was, for 24 hours.',
} as const;

/** What a key may be refused with where the answer itself is waited for. */
export const IDEMPOTENCY_ERRORS = [
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_in_progress',
] as const satisfies readonly ErrorCode[];

/** A page for people. */
export function page(summary: string, access: 'none' | 'session' = 'none'): Operation {
  const shown = { 200: { description: 'The page.', type: 'text/html' } };
  const seeOther = { 303: { description: 'To the sign-in page, where nobody is signed in.' } };
  return { tag: 'Pages', summary, access: 'none', answers: access === 'session' ? { ...shown, ...seeOther } : shown };
}

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
