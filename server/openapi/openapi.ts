/*
 * Builds the OpenAPI 3.1 document of all routes at `/openapi.json`, from the declarations and schemas that also
 * validate requests, so the two cannot differ. The text is built at the first request and cached for the address of the
 * gateway. Schemas are rewritten into words that generators of clients understand: an object with any fields gets
 * `additionalProperties`. Webhooks that the gateway sends are described as well. Pages of any origin may read the
 * document.
 */

import { field, type TSchema, Type } from '../../core/contracts/index.js';
import {
  defineRoute,
  JSON_TYPE,
  type Route,
  type RouteAnswer,
  type SentWebhook,
  type ServerContext,
  Text,
} from '../http/index.js';
import { API_VERSION } from '../version.js';
import { type Access, accessOf, describeErrors, errorSchemas } from './errors.js';

interface OpenApiServices extends Pick<ServerContext, 'baseUrl'> {
  /** Every route, as it is declared. */
  routes: readonly Route[];
}

/** The document as an object and as text, for the current address of the gateway. */
export interface ApiDocument {
  object(): OpenApiDocument;
  text(): string;
}

/** The document, built at the first use, and again if the address of the gateway changes. */
export function createApiDocument({ routes, baseUrl }: OpenApiServices, webhooks: readonly SentWebhook[]): ApiDocument {
  let known: { for: string; object: OpenApiDocument; text: string } | undefined;

  function build() {
    const url = baseUrl();
    if (known?.for !== url) {
      const object = describeRoutes({ routes, webhooks, baseUrl: url });
      known = { for: url, object, text: JSON.stringify(object) };
    }
    return known;
  }

  return { object: () => build().object, text: () => build().text };
}

/** The API reference for programs. */
export function openApiRoutes(document: Pick<ApiDocument, 'text'>): Route[] {
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
        context.res.setHeader('Content-Type', JSON_TYPE);
        context.res.setHeader('Access-Control-Allow-Origin', '*');
        context.body = document.text();
      },
    }),
  ];
}

const TAGS: Readonly<Record<Route['tag'], string>> = {
  'Link data': 'Structured data from public links.',
  Images: 'Images as background jobs, or in one request.',
  Models: 'Text and audio models in the formats of the OpenAI and Anthropic SDKs.',
  Agents: 'The endpoint of agents: tools by the Model Context Protocol.',
  Account: 'The signed-in user, API keys and usage. JSON in camelCase.',
  Payments: 'Plans paid by bank transfer.',
  Admin: 'What operators see and change: users, orders, keys, jobs, models. Everybody else gets 404.',
  Process: 'Health, metrics and this document.',
  Pages: 'Pages for browsers. Programs need none of them.',
};

const SECURITY: Readonly<Record<Access, readonly Record<string, readonly []>[]>> = {
  none: [],
  key: [{ apiKey: [] }],
  linkKey: [{ apiKey: [] }, { apiKeyHeader: [] }],
  session: [{ session: [] }, { deviceToken: [] }],
  browser: [{ session: [] }],
  admin: [{ apiKey: [] }, { session: [] }],
  signature: [{ webhookSignature: [] }],
};

export interface DocumentOptions {
  routes: readonly Route[];
  webhooks: readonly SentWebhook[];
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
}

export type OpenApiDocument = ReturnType<typeof describeRoutes>;

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
        'Every error has a stable code. `Retry-After` is in whole seconds. Fields may be added to any response. Every response has an `x-request-id` header; answers of text models also have `x-upstream-request-id` if the upstream named the request. If the operator has stated prices, whole answers of models and links have their cost in `x-mediagate-cost`, such as `0.012345 USD`. A request with `Accept: application/problem+json` gets errors in the form of `Problem`.',
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
  const bodies = answers.flatMap((answer) => [answer, ...Object.values(answer.also ?? {})]);
  const named = bodies.flatMap(({ name, schema }) => (name && schema ? [[name, schema] as const] : []));
  const all: Record<string, TSchema> = Object.assign(
    { ...errorSchemas(), ...Object.fromEntries(named) },
    ...webhooks.map(({ schemas }) => schemas),
  );
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, portable(schema)]));
}

/**
 * Rewrites `patternProperties` for client generators. An object with any fields gets `additionalProperties`, which many
 * of them read; an object without declared properties would become an empty one.
 */
function portable(schema: TSchema): TSchema {
  const { properties, patternProperties, additionalProperties, items, anyOf, ...rest } = schema as SchemaParts;
  const patterns = Object.values(patternProperties ?? {});
  const further = patterns.length === 1 && !properties ? portable(patterns[0] ?? {}) : additionalProperties;
  const isAny = rest.type === 'object' && Object.keys(properties ?? {}).length === 0 && further === undefined;
  return {
    ...rest,
    ...(properties && !isAny && { properties: mapValues(properties, portable) }),
    ...(patterns.length > 0 && further === additionalProperties && { patternProperties }),
    ...(further !== undefined && { additionalProperties: further }),
    ...(isAny && { additionalProperties: true }),
    ...(items && { items: portable(items) }),
    ...(anyOf && { anyOf: anyOf.map(portable) }),
  };
}

interface SchemaParts {
  type?: string;
  properties?: Readonly<Record<string, TSchema>>;
  patternProperties?: Readonly<Record<string, TSchema>>;
  additionalProperties?: boolean | TSchema;
  items?: TSchema;
  anyOf?: readonly TSchema[];
}

function mapValues<From, To>(values: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

function referTo(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

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
          ...Object.fromEntries(bodyTypesOf(body).map((type) => [type, describeBody(body)])),
          ...(body.form && { 'multipart/form-data': describeBody({ schema: body.form, example: body.formExample }) }),
        },
      },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, answer]) => [status, describeAnswer(answer)])),
      ...describeErrors(route),
    },
  };
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
    description: params[name]?.description,
    schema: { type: 'string' },
    ...(params[name]?.example !== undefined && { example: params[name].example }),
  }));
}

function queryParameters({ query = {} }: Route) {
  return Object.entries(query).map(([name, { schema, description, required = false }]) => ({
    name,
    in: 'query',
    required,
    description,
    schema: portable(schema),
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

function bodyTypesOf({ type = 'application/json' }: NonNullable<Route['body']>): readonly string[] {
  return typeof type === 'string' ? [type] : type;
}

function describeAnswer({ description, type = 'application/json', also = {}, ...body }: RouteAnswer) {
  if (!body.name && !body.schema && type === 'application/json') return { description };
  const bodies = { [type]: body, ...also };
  const content = Object.entries(bodies).map(([mediaType, one]) => [mediaType, describeBody(one, mediaType)]);
  return { description, content: Object.fromEntries(content) };
}

/** A body without a schema is a text or a file. */
function describeBody(
  { name, schema, example }: Pick<RouteAnswer, 'name' | 'schema' | 'example'>,
  mediaType = 'application/json',
) {
  const plain = mediaType.startsWith('text/') ? { type: 'string' } : { type: 'string', format: 'binary' };
  return {
    schema: name ? referTo(name) : schema ? portable(schema) : plain,
    ...(example !== undefined && { example }),
  };
}
