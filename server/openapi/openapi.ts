import { field, optional, type TSchema, Type } from '../../core/contracts/index.js';
import { ERROR_CODES, type ErrorCode } from '../../core/runtime/index.js';
import {
  Attempts,
  defineRoute,
  ERROR_TEXTS,
  errorClassOf,
  Nullable,
  type Route,
  type RouteAnswer,
  type SentWebhook,
  type ServerContext,
  Text,
} from '../http/index.js';
import { API_VERSION } from '../version.js';

/** The API reference for programs. */
export function openApiRoutes({ routes, baseUrl }: ServerContext, webhooks: readonly SentWebhook[]): Route[] {
  let known: { for: string; text: string } | undefined;

  return [
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      grant: 'none',
      tag: 'Process',
      summary: 'This document',
      description: 'The API reference for programs: OpenAPI 3.1.',
      answers: {
        200: {
          description: 'The document.',
          schema: Type.Object({ openapi: field(Text, 'Version of OpenAPI.', '3.1.0') }),
        },
      },
      handler(context) {
        const url = baseUrl();
        if (known?.for !== url) {
          known = { for: url, text: JSON.stringify(describeRoutes({ routes, webhooks, baseUrl: url })) };
        }
        context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
        context.res.setHeader('Access-Control-Allow-Origin', '*');
        context.body = known.text;
      },
    }),
  ];
}

/** Authentication schemes. `key` is a bearer API key; `linkKey` may also be in `X-API-Key`. */
type Access = 'none' | 'key' | 'linkKey' | 'session' | 'signature';

const TAGS: Readonly<Record<Route['tag'], string>> = {
  'Link data': 'Structured data from public links.',
  Images: 'Images as background jobs, or in one request.',
  Models: 'Text and audio models in the formats of the OpenAI and Anthropic SDKs.',
  Account: 'The signed-in user, API keys and usage. JSON in camelCase.',
  Payments: 'Plans paid by bank transfer.',
  Process: 'Health, metrics and this document.',
  Pages: 'Pages for browsers. Programs need none of them.',
};

const SECURITY: Readonly<Record<Access, readonly Record<string, readonly []>[]>> = {
  none: [],
  key: [{ apiKey: [] }],
  linkKey: [{ apiKey: [] }, { apiKeyHeader: [] }],
  session: [{ session: [] }, { deviceToken: [] }],
  signature: [{ webhookSignature: [] }],
};

const KEY_ERRORS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'route_not_allowed',
  'account_suspended',
] as const;
const ACCESS_ERRORS: Readonly<Record<Access, readonly ErrorCode[]>> = {
  none: [],
  key: KEY_ERRORS,
  linkKey: KEY_ERRORS,
  session: ['not_signed_in', 'cross_site_request'],
  signature: ['not_signed_in'],
};
const BODY_ERRORS = [
  'invalid_json',
  'invalid_value',
  'missing_required_parameter',
  'request_too_large',
  'unsupported_media_type',
] as const;

export interface DocumentOptions {
  routes: readonly Route[];
  webhooks: readonly SentWebhook[];
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
}

/** Builds an OpenAPI 3.1 document of all routes, from the same schemas that validate requests. */
export function describeRoutes({ routes, webhooks, baseUrl }: DocumentOptions) {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const name = route.path.replace(/:(\w+)/g, '{$1}');
    paths[name] = { ...paths[name], [route.method.toLowerCase()]: describe(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'mediagate',
      version: API_VERSION,
      summary: 'Link data, images, text and audio models behind one API key.',
      description:
        'Every error has a stable `error.code`. `Retry-After` is in whole seconds. Fields may be added to any response. Every response has an `x-request-id` header.',
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: Object.fromEntries(webhooks.map(({ name, operation }) => [name, { post: operation }])),
    components: { schemas: schemasOf(routes, webhooks), securitySchemes: SECURITY_SCHEMES },
  };
}

/** Named schemas, by name. */
function schemasOf(routes: readonly Route[], webhooks: readonly SentWebhook[]): Record<string, TSchema> {
  const answers = routes.flatMap((route) => Object.values(route.answers));
  const named = answers.flatMap(({ name, schema }) => (name && schema ? [[name, schema] as const] : []));
  return Object.assign({ ...ERROR_SCHEMAS, ...Object.fromEntries(named) }, ...webhooks.map(({ schemas }) => schemas));
}

function referTo(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

const Code = Type.Union(ERROR_CODES.map((code) => Type.Literal(code, { description: ERROR_TEXTS[code].meaning })));

const ErrorBody = Type.Object({
  message: field(Text, 'What went wrong, and what to do. For people; the words may change.'),
  type: field(Text, 'Class of the error, as clients of OpenAI know it.', 'invalid_request_error'),
  param: field(Nullable(Text), 'The field of the request that is invalid. Null if none is.', 'url'),
  code: field(Code, 'Stable error code, for programs. Treat an unknown code by the HTTP status.', 'invalid_value'),
  request_id: optional(Text, 'Id of the request, which the log of the gateway also has.'),
  retryable: optional(
    Type.Boolean(),
    'Whether the same request may succeed later. On link data if the platform was asked, and on images.',
  ),
  reason: optional(Text, "The platform's or model's own message, at most 300 characters. Absent if it sent none."),
  attempts: optional(Attempts, 'The methods that were tried for a link, in order.'),
});

/** Error bodies. Fields may be added to any of them. */
const ERROR_SCHEMAS = {
  Error: Type.Object(
    {
      error: field(ErrorBody, 'The error.'),
      ok: optional(Type.Literal(false), 'Only on link data: always false.'),
      platform: optional(Text, 'Only on link data: platform key, if it is known.', 'vidsite'),
      input_url: optional(Text, 'Only on link data: the link as sent.'),
      loginUrl: optional(Text, 'Only if the user is not signed in: the address of the sign-in.'),
      instruction: optional(Text, 'Only if the user is not signed in: what a program should tell its user.'),
    },
    { description: 'Why a request was refused or failed.' },
  ),
  MessageError: Type.Object(
    {
      type: field(Type.Literal('error'), 'Always `error`.'),
      error: field(
        Type.Object({
          type: field(Text, "Class of the error, as Anthropic's SDK knows it.", 'invalid_request_error'),
          message: field(Text, 'What went wrong, and what to do. For people; the words may change.'),
        }),
        'The error.',
      ),
      request_id: field(Text, 'Id of the request, which the log of the gateway also has.'),
    },
    { description: "Why a request in Anthropic's format was refused or failed." },
  ),
};

const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `sk-mg-…`. Keep keys on servers.' },
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'An API key, on routes of link data and messages.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-mediagate',
    description:
      'The session of a browser. Without TLS the cookie is called `mediagate`. Requests that change something need `Origin` or `Sec-Fetch-Site` of the site.',
  },
  deviceToken: { type: 'http', scheme: 'bearer', description: 'The token of the device flow: a session of 12 hours.' },
  webhookSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'webhook-signature',
    description: 'Signature of the bank or payment service.',
  },
  webhookSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'webhook-signature',
    description:
      'Standard Webhooks: `v1,` and the base64 of an HMAC-SHA256 with the secret of the account. During a rotation there are two, with a space between them.',
  },
} as const;

function describe(route: Route) {
  const { method, path, tag, summary, description, body } = route;
  return {
    tags: [tag],
    summary,
    description,
    operationId: operationIdOf(method, path),
    security: SECURITY[accessOf(route)],
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(body && {
      requestBody: {
        required: true,
        content: {
          [body.type ?? 'application/json']: { schema: body.schema, ...exampleOf(body) },
          ...(body.form && { 'multipart/form-data': { schema: body.form } }),
        },
      },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, answer]) => [status, describeAnswer(answer)])),
      ...describeErrors(route),
      default: problem('Any other error.', route),
    },
  };
}

function accessOf({ method, grant, apiKeyHeader, format }: Route): Access {
  // A browser without a session is redirected to the sign-in.
  if (method === 'GET' && format === 'page') return 'none';
  if (grant === 'none' || grant === 'session' || grant === 'signature') return grant;
  return apiKeyHeader ? 'linkKey' : 'key';
}

/** `POST /v1/images/jobs/:id/cancel` → `postV1ImagesJobsIdCancel`. */
function operationIdOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function pathParameters({ path, params = {} }: Route) {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: params[name],
    schema: { type: 'string' },
  }));
}

function queryParameters({ query = {} }: Route) {
  return Object.entries(query).map(([name, { schema, description, required = false }]) => ({
    name,
    in: 'query',
    required,
    description,
    schema,
  }));
}

function headerParameters({ headers = {} }: Route) {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  }));
}

function describeAnswer({ description, type = 'application/json', name, ...body }: RouteAnswer) {
  const schema = name ? referTo(name) : body.schema;
  if (!schema && type === 'application/json') return { description };
  return { description, content: { [type]: { ...(schema && { schema }), ...exampleOf(body) } } };
}

function exampleOf({ example }: Pick<RouteAnswer, 'example'>) {
  return example === undefined ? {} : { example };
}

/** By status: the possible error codes. */
function describeErrors(route: Route) {
  const { body, errors = [], format: name } = route;
  const codes = [...new Set<ErrorCode>([...ACCESS_ERRORS[accessOf(route)], ...(body ? BODY_ERRORS : []), ...errors])];
  const format = { model: name === 'model' || name === 'anthropic', anthropic: name === 'anthropic' };
  const byStatus = Map.groupBy(codes, (code) => errorClassOf(code, format).status);
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [status, problem(some.map((code) => `\`${code}\``).join(' '), route)]),
  );
}

function problem(description: string, { format }: Route) {
  const schema = referTo(format === 'anthropic' ? 'MessageError' : 'Error');
  return { description, content: { 'application/json': { schema } } };
}
