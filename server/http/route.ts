/*
 * Declares routes. A route is declared once, in the folder of its subject. The router, the grant check, the OpenAPI
 * document, the endpoints of the service manifest and the route tables of the documentation are made from the
 * declarations, so they cannot differ. For each request the router first marks the error format of the route, then runs
 * the check of its grant, then the handler. The file also has the parts of response schemas that several routes share.
 */

import type Router from '@koa/router';
import { field, optional, type TSchema, Type } from '../../core/contracts/index.js';
import type { ErrorCode } from '../../core/runtime/index.js';
import { markAnthropic, markLinkData, markModel, markOauth } from './error-response.js';
import type { Next, ParamsContext, RequestContext, RequestState } from './koa-app.js';
import { markPage } from './pages.js';

/** A group of routes that an API key may be granted. */
export type Grant = 'images' | 'extract' | 'text' | 'audio';

/**
 * Who may call a route: a client with an API key that has the grant (or one of several), a client with any valid API
 * key, a signed-in user, an operator (by a key with the grant `admin`, or signed in at the site), a sender with a signed
 * body, or everyone.
 */
export type RouteGrant = Grant | readonly Grant[] | 'any' | 'session' | 'admin' | 'signature' | 'none';

/** Format of the errors: link data, model vendors, Anthropic's SDK, OAuth, or a page for browsers. */
export type ErrorFormat = 'link' | 'model' | 'anthropic' | 'oauth' | 'page';

export interface RouteAnswer {
  description: string;
  /** Default `application/json`. */
  type?: string;
  /** Default: the answer has no JSON body. */
  schema?: TSchema;
  /** Name of the schema in the API reference. Default: it is inlined. */
  name?: string;
  /** Valid by the schema; a test checks it. */
  example?: unknown;
  /** The same answer in other media types, which the request selects: media type → body. Default: none. */
  also?: Readonly<Record<string, Pick<RouteAnswer, 'schema' | 'name'>>>;
}

export interface PathParameter {
  description: string;
  /** A value for examples. Default: there is none, and the API reference shows no example. */
  example?: string;
}

type BodyType = 'application/json' | 'multipart/form-data' | 'application/x-www-form-urlencoded';

export interface RouteBody {
  /** Several types have the same fields. Default `application/json`. */
  type?: BodyType | readonly BodyType[];
  schema: TSchema;
  example?: unknown;
  /** Schema of the fields, if the route takes `multipart/form-data` as well. */
  form?: TSchema;
  /** An example of these fields, where a file is given by its name. */
  formExample?: unknown;
}

export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  /** In the router's form: `/v1/images/jobs/:id`. */
  path: string;
  grant: RouteGrant;
  /** What a key without the grant may do instead: a sentence for the error, if there is something. Default: nothing. */
  advice?(grants: readonly string[]): string | undefined;
  /** Whether `X-API-Key` is accepted besides `Authorization: Bearer`. Default false. */
  apiKeyHeader?: boolean;
  /** Whether requests without a session are also accepted, with the grant `session`. Default: only on pages. */
  sessionOptional?: boolean;
  /** Whether a session of the device flow is refused, with the grant `session`. Default false. */
  browserOnly?: boolean;
  /** Whether users with the role `billing` may call it as well, with the grant `admin`. Default false. */
  forBilling?: boolean;
  /** Default: the usual format. */
  format?: ErrorFormat | ((context: RequestContext) => ErrorFormat | undefined);
  /** Name in the service manifest; routes of one path share it. Default: the manifest does not list the route. */
  endpoint?: string;
  /** Name of the path parameter in the service manifest. Default: as in the path. */
  parameter?: string;
  /** Group in the API reference. */
  tag: 'Link data' | 'Images' | 'Models' | 'Agents' | 'Account' | 'Payments' | 'Admin' | 'Process' | 'Pages';
  /** In the API reference, a few words. */
  summary: string;
  /** In the API reference and in the route tables of the documentation: what the route does. */
  description: string;
  /** Parameters of the path. */
  params?: Readonly<Record<string, PathParameter>>;
  query?: Readonly<Record<string, { schema: TSchema; description: string; required?: boolean }>>;
  /** Request headers besides the key: name → description. */
  headers?: Readonly<Record<string, string>>;
  body?: RouteBody;
  /** By status. */
  answers: Readonly<Record<number, RouteAnswer>>;
  /** Besides those that follow from grant and body. */
  errors?: readonly ErrorCode[];
  handler(context: ParamsContext): unknown;
}

/** A route without its handler. */
export type RouteDeclaration = Omit<Route, 'handler'>;

/** A request that the gateway sends by itself, for the API reference. */
export interface SentWebhook {
  name: string;
  /** As OpenAPI describes an operation. */
  operation: object;
  /** Schemas that the operation refers to, by name. */
  schemas: Readonly<Record<string, TSchema>>;
}

/** Declares a route. */
export function defineRoute(route: Route): Route {
  return route;
}

export type Middleware = (context: RequestContext, next: Next) => Promise<unknown>;

/** The check before a route's handler; undefined if it needs none. */
export type GuardOf = (route: Route) => Middleware | undefined;

const VERBS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const;

const MARKS: Readonly<Record<ErrorFormat, Middleware>> = {
  link: markLinkData,
  model: markModel,
  anthropic: markAnthropic,
  oauth: markOauth,
  page: markPage,
};

/** Adds the routes in order. Each request is marked with its error format, checked, and handled. */
export function addRoutes(router: Router<RequestState>, routes: readonly Route[], guardOf: GuardOf): void {
  for (const route of routes) {
    const { method, path, handler } = route;
    const before = [markOf(route), guardOf(route)].filter((step) => step !== undefined);
    router[VERBS[method]](path, ...before, handler);
  }
}

function markOf({ format }: Route): Middleware | undefined {
  if (typeof format !== 'function') return format && MARKS[format];
  return (context, next) => {
    const chosen = format(context);
    return chosen ? MARKS[chosen](context, next) : next();
  };
}

/* Parts of response schemas. */
export const Text = Type.String();
export const Count = Type.Integer({ minimum: 0 });
export const Time = Type.String({ description: 'Time in RFC 3339, UTC.' });
export const Url = Type.String({ description: 'Address.' });
export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
export const OneOf = <Value extends string>(...values: readonly Value[]) =>
  Type.Unsafe<Value>(Type.Union(values.map((value) => Type.Literal(value))));

/** An object that is passed on, or that the documentation describes: any fields. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());
/** Server-sent events in place of a whole answer, for {@link RouteAnswer.also}. */
export const streamed = (description: string) => ({ 'text/event-stream': { schema: Type.String({ description }) } });

/** The methods that were tried for a link. */
export const Attempts = Type.Array(
  Type.Object({
    method: field(Text, 'Name of the method.', 'watch_page'),
    outcome: field(
      Text,
      '`ok`, `skipped` (not usable or too late), `resting` (in cool-down), or the error code it ended with.',
      'bot_check',
    ),
    ms: field(Type.Number(), 'Duration in milliseconds.', 812),
  }),
);

/** A failure inside of a successful answer, as `describeFailure` encodes it. */
export const Failure = Type.Object({
  message: field(Text, 'What went wrong, and what to do. For people; the words may change.'),
  type: field(Text, 'Class of the error.', 'invalid_request_error'),
  param: field(Nullable(Text), 'The field of the request that is invalid. Null if none is.'),
  code: field(Text, 'Stable error code, for programs.', 'removed'),
  reason: optional(Text, "The platform's or model's own message, at most 300 characters. Absent if it sent none."),
  retryable: field(Type.Boolean(), 'Whether the same request may succeed later.'),
  retry_after_seconds: optional(Count, 'Seconds to wait before a retry. Absent if the wait is not known.', 5),
  attempts: optional(Attempts, 'The methods that were tried for a link. Absent for anything else.'),
});
