/*
 * Declares the routes of the admin API. A declaration has the schemas of query and body and a function that does the
 * work; what is common is here: the grant, reading and checking what was sent, the actor for the audit log, and the
 * answer. Unknown fields and parameters are refused with the closest known name, so that a mistyped filter does not
 * list everything, and no field reaches a service that its schema does not name.
 */

import { field, optional, type Static, type TSchema, Type } from '../../core/contracts/index.js';
import {
  closestMatch,
  createValidator,
  type ErrorCode,
  GatewayError,
  type Validator,
} from '../../core/runtime/index.js';
import { defineRoute, type ParamsContext, type Route, type RouteAnswer, readJsonBody } from '../http/index.js';
import type { AdminServices } from './services.js';

const MAX_BODY_BYTES = 64 * 1024;
const MAX_TEXT = 200;

type Query = Readonly<Record<string, { schema: TSchema; description: string }>>;
type QueryValues<Declared extends Query> = { [Name in keyof Declared]?: Static<Declared[Name]['schema']> };

/** Who does it, and why. */
export interface AdminActor {
  /** For the audit log: `operator:user_…` or `operator:key:AbCd1234`. */
  actor: string;
  note?: string;
}

export interface AdminCall<Declared extends Query, Body> {
  query: QueryValues<Declared>;
  /** Without `note`, which is in {@link by}. */
  body: Body;
  by: AdminActor;
  /** A parameter of the path. */
  param(name: string): string;
  context: ParamsContext;
}

export interface AdminRoute<Declared extends Query, Body extends TSchema> {
  method: Route['method'];
  /** Below `/v1/admin`. */
  path: string;
  summary: string;
  description: string;
  params?: Route['params'];
  /** Default: none. */
  query?: Declared;
  /** An object without further fields. Default: the route takes no body. */
  body?: Body;
  example?: object;
  /** Of the status 200. */
  answer: Pick<RouteAnswer, 'description' | 'schema' | 'name'>;
  errors?: readonly ErrorCode[];
  /** @returns The answer. */
  run(call: AdminCall<Declared, Static<Body>>): Promise<object>;
}

/** A reason, for the audit log. A field of every change. */
export const NOTE = {
  note: optional(Type.String({ minLength: 1, maxLength: 500 }), 'Reason, for the audit log.', 'asked by mail'),
};

export const strict = { additionalProperties: false } as const;

/** A body without fields besides the note. */
export const NoteBody = Type.Object({ ...NOTE }, strict);

export function adminRoute<Declared extends Query, Body extends TSchema>(
  { bodies }: Pick<AdminServices, 'bodies'>,
  declared: AdminRoute<Declared, Body>,
): Route {
  const { method, path, summary, description, params, query, body, example, answer, errors = [], run } = declared;
  const validator = body && createValidator(body);
  return defineRoute({
    method,
    path: `/v1/admin${path}`,
    grant: 'admin',
    tag: 'Admin',
    summary,
    description,
    ...(params && { params }),
    ...(query && { query }),
    ...(body && { body: { schema: body, ...(example && { example }) } }),
    // A schema with a name is described where the document lists it.
    answers: { 200: { ...answer, ...(answer.schema && { schema: field(answer.schema, answer.description) }) } },
    errors,
    async handler(context) {
      const actor = context.state.operator;
      if (actor === undefined) throw new Error(`${path} was reached without an operator`);
      const values = readQuery(context.query, query ?? ({} as Declared));
      const given = validator && body ? await readBody(context, { bodies, validator, schema: body, actor }) : {};
      const { note, ...fields } = given as { note?: string };
      const by = { actor, ...(note !== undefined && { note }) };
      const call = { query: values, body: fields as Static<Body>, by, context };
      const answered = await run({ ...call, param: (name) => context.params[name] ?? '' });
      context.set('Cache-Control', 'no-store');
      context.type = 'json';
      context.body = JSON.stringify(answered);
    },
  });
}

/** @throws GatewayError `invalid_value`, `unsupported_parameter` with `param`. */
export function readQuery<Declared extends Query>(
  sent: Readonly<Record<string, string | string[] | undefined>>,
  declared: Declared,
): QueryValues<Declared> {
  const values: Record<string, unknown> = {};
  for (const [param, text] of Object.entries(sent)) {
    const found = Object.hasOwn(declared, param) ? declared[param] : undefined;
    if (!found) throw unknown('query', param, Object.keys(declared));
    if (Array.isArray(text)) throw new GatewayError('invalid_value', `${param} is given twice.`, { param });
    // Empty fields of a form do not filter.
    if (text !== undefined && text !== '') values[param] = readText(param, text, found.schema);
  }
  return values as QueryValues<Declared>;
}

function readText(param: string, text: string, schema: TSchema): unknown {
  const { type, maxLength = MAX_TEXT } = schema as SchemaWords;
  if (text.includes('\0') || text.length > maxLength) throw unaccepted(param, `at most ${maxLength} characters`);
  const isNumber = type === 'integer' || type === 'number';
  const value = isNumber && /^\d{1,12}$/.test(text) ? Number(text) : type === 'boolean' ? booleanOf(text) : text;
  if (createValidator(schema).check(value).ok) return value;
  throw unaccepted(param, acceptedOf(schema));
}

function booleanOf(text: string): boolean | string {
  return text === 'true' ? true : text === 'false' ? false : text;
}

interface BodyReading {
  bodies: AdminServices['bodies'];
  validator: Validator<unknown>;
  schema: TSchema;
  actor: string;
}

async function readBody(context: ParamsContext, { bodies, validator, schema, actor }: BodyReading): Promise<object> {
  const { req: request, res: response } = context;
  const isEmpty = !request.headers['transfer-encoding'] && Number(request.headers['content-length'] ?? 0) === 0;
  const limits = { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: actor };
  const body = isEmpty ? {} : await readJsonBody(request, response, limits);
  const checked = validator.check(body);
  if (checked.ok) return checked.value as object;
  const [issue = { path: '', keyword: '', message: 'is not accepted', params: {} }] = checked.issues;
  const { properties = {} } = schema as SchemaWords;
  if (issue.keyword === 'additionalProperties') {
    throw unknown('body', String(issue.params.additionalProperty), Object.keys(properties));
  }
  const [param = ''] = issue.path.split(/[.[]/);
  const accepted = acceptedOf(properties[param] ?? {});
  if (issue.keyword === 'required' && issue.path === param) {
    throw new GatewayError('missing_required_parameter', `${param} is missing: send ${accepted}.`, { param });
  }
  throw unaccepted(param, accepted);
}

/** The error of a field that is not what it accepts. */
export function unaccepted(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

function unknown(where: 'body' | 'query', sent: string, known: readonly string[]): GatewayError {
  const param = sent.slice(0, 100);
  const match = closestMatch(param, known);
  const suggestion = match === undefined ? '' : ` Did you mean "${match}"?`;
  const accepted = known.length === 0 ? 'It has none.' : `It may have ${known.join(', ')}.`;
  const message = `The ${where} has an unknown field.${suggestion} ${accepted}`;
  return new GatewayError('unsupported_parameter', message, { param });
}

interface SchemaWords {
  type?: string;
  title?: string;
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  items?: TSchema;
  anyOf?: readonly TSchema[];
  properties?: Readonly<Record<string, TSchema>>;
}

/** What a schema accepts, in words: `a whole number from 1 to 200`. */
export function acceptedOf(schema: TSchema): string {
  const { type, title, const: only, minimum, maximum, minLength = 0, maxLength, items, anyOf } = schema as SchemaWords;
  if (title !== undefined) return title;
  if (only !== undefined) return String(only);
  if (anyOf)
    return anyOf
      .map(acceptedOf)
      .join(', ')
      .replace(/, ([^,]+)$/, ' or $1');
  if (type === 'integer' || type === 'number') {
    const what = type === 'integer' ? 'a whole number' : 'a number';
    return maximum === undefined ? what : `${what} from ${minimum ?? 0} to ${maximum}`;
  }
  if (type === 'boolean') return 'true or false';
  if (type === 'null') return 'null';
  if (type === 'array') return `a list, each of it ${acceptedOf(items ?? {})}`;
  if (type === 'object') return 'an object';
  return maxLength === undefined ? 'a text' : `a text of ${minLength} to ${maxLength} characters`;
}
