/*
 * Reads the OpenAPI document for the pages of the API reference: operations in groups, one page each; objects that
 * several answers share; error codes with their status. An operation belongs to the first group whose paths it matches,
 * or else to the group of its tag. Pages for browsers are left out: programs need none of them.
 */

import { ERRORS, type ErrorCode } from '../../../core/runtime/index.js';
import type { OpenApiDocument } from '../../openapi/index.js';

/** A JSON schema, as far as the document uses them. */
export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  const?: unknown;
  format?: string;
  contentMediaType?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  examples?: readonly unknown[];
  additionalProperties?: boolean | Schema;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: string;
}

/** Media type → schema and example. */
export type Content = Readonly<Record<string, { schema: Schema; example?: unknown }>>;

export interface Operation {
  /** Also its anchor in its page. */
  id: string;
  /** `GET`. */
  method: string;
  /** `/v1/images/jobs/{id}`; the name of the event for a webhook that the gateway sends. */
  path: string;
  isSent: boolean;
  tag: string;
  summary: string;
  description: string;
  /** Names of the accepted authentication schemes. */
  security: readonly string[];
  parameters: readonly Parameter[];
  body: Content;
  /** Answers that are no errors, by status. */
  answers: readonly { status: string; description: string; content: Content }[];
  /** Error codes by status. */
  errors: readonly { status: string; codes: readonly string[] }[];
}

/** Operations of one page. */
export interface Group {
  /** In its address: `/docs/api/images`. */
  name: string;
  title: string;
  description: string;
  operations: readonly Operation[];
  /** Names of the objects that its operations refer to, those within these objects included. */
  objects: readonly string[];
}

export interface ErrorCodeView extends Pick<(typeof ERRORS)[ErrorCode], 'meaning' | 'cause' | 'action'> {
  code: string;
  isRetryable: boolean;
  /** Statuses by number; a code may have several, by the format of its route. */
  statuses: readonly string[];
}

export interface Reference {
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
  version: string;
  description: string;
  groups: readonly Group[];
  objects: Readonly<Record<string, Schema>>;
  errors: readonly ErrorCodeView[];
  /** Names of the objects that errors have. */
  errorObjects: readonly string[];
}

interface GroupRule {
  name: string;
  title: string;
  description: string;
  paths?: RegExp;
  tag?: string;
  /** Path of the operation that a reader needs first. Default: in the order of the document. */
  first?: string;
}

/** In the order of the navigation. A group with a tag also takes the operations of the tag that no paths match. */
const GROUPS: readonly GroupRule[] = [
  {
    name: 'links',
    title: 'Link data',
    description: 'Structured data from public links, one at a time.',
    paths: /^\/v1\/(extract(\/jobs.*)?|capabilities|oembed)$/,
    tag: 'Link data',
    first: '/v1/extract',
  },
  {
    name: 'batches',
    title: 'Batches of links',
    description: 'Several links in one request, or thousands in the background.',
    paths: /^\/v1\/extract\/batch/,
  },
  {
    name: 'files',
    title: 'Files of links',
    description:
      'Audio, video, subtitles and pictures. The document of a link has their addresses, so no key is needed.',
    paths: /^\/v1\/(media|extract\/(audio|video|subtitles|archive))\//,
  },
  {
    name: 'images',
    title: 'Images',
    description: 'Images in one request, or as background jobs that survive a restart.',
    paths: /^\/v1\/images\//,
    tag: 'Images',
  },
  {
    name: 'webhooks',
    title: 'Webhooks',
    description: 'Signed requests that the gateway sends when a job ends, and the secret that signs them.',
    paths: /^\/v1\/webhooks\//,
  },
  {
    name: 'chat',
    title: 'Chat and responses',
    description: 'Text models in the two formats of the OpenAI SDKs.',
    paths: /^\/v1\/(chat|responses)/,
  },
  {
    name: 'messages',
    title: 'Messages',
    description: "Text models in the format of Anthropic's SDK.",
    paths: /^\/v1\/messages/,
  },
  {
    name: 'audio',
    title: 'Audio',
    description: 'Speech, transcripts, sound effects and voices.',
    paths: /^\/v1\/audio\//,
  },
  {
    name: 'models',
    title: 'Models and embeddings',
    description: 'The models that a key may use, embeddings and moderation.',
    tag: 'Models',
    first: '/v1/models',
  },
  {
    name: 'account',
    title: 'Account and keys',
    description: 'The signed-in user, API keys and usage. JSON in camelCase.',
    tag: 'Account',
  },
  {
    name: 'sign-in',
    title: 'Sign-in for programs',
    description: 'The device flow, sessions, and what the gateway offers to coding agents.',
    paths: /^\/api\/agent\/(session|device|manifest|plans|setup)/,
    first: '/api/agent/device',
  },
  {
    name: 'payments',
    title: 'Payments',
    description: 'Plans that are paid by bank transfer.',
    tag: 'Payments',
  },
  {
    name: 'agents',
    title: 'Agents',
    description: 'Tools for agents, by the Model Context Protocol.',
    tag: 'Agents',
  },
  {
    name: 'admin',
    title: 'Administration',
    description:
      'What operators see and change of customers: users, invitations, keys, groups and budgets. A key with the grant `admin` is needed; everybody else gets 404.',
    paths: /^\/v1\/admin\/(users|accounts|invitations|keys|groups|budgets)/,
  },
  {
    name: 'admin-money',
    title: 'Money of customers',
    description:
      'What operators see and change of orders, bank transfers and prepaid balances. A key with the grant `admin` is needed; everybody else gets 404.',
    paths: /^\/v1\/admin\/(orders|transfers|balances)/,
  },
  {
    name: 'admin-models',
    title: 'Administration of models',
    description:
      'What operators see, add and change of models. A key with the grant `admin` is needed; everybody else gets 404.',
    paths: /^\/v1\/admin\/models/,
  },
  {
    name: 'admin-operation',
    title: 'Operation',
    description:
      'What operators see and change of the gateway: usage, requests, jobs, settings, audit log and incidents. A key with the grant `admin` is needed; everybody else gets 404.',
    tag: 'Admin',
  },
  {
    name: 'process',
    title: 'Health and metrics',
    description: 'The state of the gateway, for monitoring and load balancers.',
    tag: 'Process',
  },
];

/** Tag of routes for browsers. */
const PAGES_TAG = 'Pages';

export function readReference(document: OpenApiDocument): Reference {
  const objects = document.components.schemas as unknown as Readonly<Record<string, Schema>>;
  const operations = [
    ...readOperations(document.paths as RawPaths, false),
    ...readOperations(document.webhooks as RawPaths, true),
  ].filter(({ tag }) => tag !== PAGES_TAG);
  const groups = GROUPS.map(({ name, title, description, first }) => {
    const unordered = operations.filter((operation) => groupOf(operation) === name);
    const isFirst = ({ path }: Operation) => Number(path === first);
    const own = unordered.toSorted((a, b) => isFirst(b) - isFirst(a));
    return { name, title, description, operations: own, objects: objectsOf(own, objects) };
  });
  const errorObjects = Object.keys(objects).filter((name) => isErrorObject(name));
  return {
    baseUrl: document.servers[0]?.url ?? '',
    version: document.info.version,
    description: document.info.description,
    groups: groups.filter((group) => group.operations.length > 0),
    objects,
    errors: readErrors(objects.ErrorCode, operations),
    errorObjects,
  };
}

/** Operations for clients by their paths; of several, the one that sends a body. */
export function operationsOf(document: OpenApiDocument): ReadonlyMap<string, Operation> {
  const all = readOperations(document.paths as RawPaths, false).filter(({ tag }) => tag !== PAGES_TAG);
  return new Map(
    all.toSorted((a, b) => Number(a.method === 'POST') - Number(b.method === 'POST')).map((one) => [one.path, one]),
  );
}

function groupOf({ path, tag, isSent }: Operation): string {
  if (isSent) return 'webhooks';
  const found = GROUPS.find(({ paths }) => paths?.test(path)) ?? GROUPS.find((group) => group.tag === tag);
  if (!found) throw new Error(`no group of the API reference has ${path}`);
  return found.name;
}

interface RawOperation {
  tags?: readonly string[];
  summary: string;
  description: string;
  operationId: string;
  security: readonly Readonly<Record<string, unknown>>[];
  parameters: readonly Parameter[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, { description: string; content?: Content }>>;
}

type RawPaths = Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;

function readOperations(paths: RawPaths, isSent: boolean): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => readOperation(path, method, raw, isSent)),
  );
}

function readOperation(path: string, method: string, raw: RawOperation, isSent: boolean): Operation {
  const answers = Object.entries(raw.responses);
  const isError = (status: string) => !isSent && (status === 'default' || Number(status) >= 400);
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path,
    isSent,
    tag: raw.tags?.[0] ?? '',
    summary: raw.summary,
    description: raw.description,
    security: raw.security.flatMap((schemes) => Object.keys(schemes)),
    parameters: raw.parameters,
    body: raw.requestBody?.content ?? {},
    answers: answers
      .filter(([status]) => !isError(status))
      .map(([status, { description, content = {} }]) => ({ status, description, content })),
    errors: answers
      .filter(([status]) => isError(status) && status !== 'default')
      .map(([status, { description }]) => ({ status, codes: codesIn(description) })),
  };
}

/** Error answers list their codes in backticks. */
function codesIn(description: string): string[] {
  return Array.from(description.matchAll(/`([^`]+)`/g), ([, code = '']) => code);
}

/** Texts of the declarations; statuses of the document, since a code may have several by the format of its route. */
function readErrors(codes: Schema | undefined, operations: readonly Operation[]): ErrorCodeView[] {
  const statusesOf = new Map<string, Set<string>>();
  for (const { status, codes: named } of operations.flatMap(({ errors }) => errors)) {
    for (const code of named) statusesOf.set(code, (statusesOf.get(code) ?? new Set()).add(status));
  }
  return (codes?.anyOf ?? []).map((one) => {
    const code = String(one.const);
    const { meaning, cause, action, status, retryable = false } = ERRORS[code as ErrorCode];
    const statuses = [...(statusesOf.get(code) ?? [String(status)])].sort();
    return { code, meaning, cause, action, isRetryable: retryable, statuses };
  });
}

function isErrorObject(name: string): boolean {
  return /(^|[a-z])Error$/.test(name) || name === 'Problem';
}

/** Names of objects that operations refer to, and those within; not of errors, which have a page of their own. */
function objectsOf(operations: readonly Operation[], objects: Readonly<Record<string, Schema>>): string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const name = refName(value as Schema);
    if (name !== undefined && !found.has(name) && !isErrorObject(name) && name !== 'ErrorCode') {
      found.add(name);
      visit(objects[name]);
    }
    for (const inner of Object.values(value)) visit(inner);
  };
  for (const { body, answers } of operations) visit([body, answers.map(({ content }) => content)]);
  return [...found];
}

/** `#/components/schemas/ImageJob` → `ImageJob`. */
export function refName({ $ref }: Schema): string | undefined {
  return $ref?.split('/').at(-1);
}
