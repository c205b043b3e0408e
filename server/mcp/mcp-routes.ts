/*
 * `POST /mcp`: the endpoint of the Model Context Protocol (Streamable HTTP) for agents. It is stateless: there are no
 * sessions, and GET and DELETE, which belong to sessions, are not declared. The API key comes as bearer token, or a token of
 * the gateway's sign-in for agents. The origin
 * of a page must be that of the site or one of `CORS_ORIGINS`; on loopback it may be another port of the machine, and the
 * host must be an address of this gateway, so that no page can reach it under a name of its own. A body has at most 4 MiB.
 * Plain calls of tools are answered at once; for all else the package of the protocol is loaded, by the first request
 * that needs it.
 */

import type { IncomingMessage, RequestListener } from 'node:http';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { type Gateway } from 'mediagate';
import { Type } from '../../core/contracts/index.js';
import { isLoopbackHost } from '../../core/net/index.js';
import { GatewayError, type Logger } from '../../core/runtime/index.js';
import {
  AnyObject,
  type BodyBudget,
  clientSignal,
  createCallRoute,
  defineRoute,
  plainAddress,
  type RequestContext,
  type Route,
  readJsonBody,
  sendEvents,
} from '../http/index.js';
import { keyOf, quotaSubject } from '../keys/index.js';
import { answerPlainCall, EVENTS_TYPE, readPlainCall } from './plain-calls.js';
import type { Caller } from './protocol.js';
import { ToolCalls } from './tool-calls.js';

/** The path of the endpoint. */
export const MCP_PATH = '/mcp';
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_VALUES = 20_000;
const JSON_TYPE = 'application/json';

export interface McpServices {
  gateway: Gateway;
  logger: Logger;
  bodies: BodyBudget;
  /** Every route, as it is declared. */
  routes: readonly Route[];
  /** Whether the endpoint exists. */
  mcpEnabled: boolean;
  baseUrl(): string;
  siteUrl?: string | undefined;
  corsOrigins?: readonly string[] | undefined;
  /** What answers requests of this app; set once the app exists. */
  inner: { handler?: RequestListener };
}

/** The endpoint for agents. None if it is disabled. */
export function mcpRoutes(services: McpServices): Route[] {
  if (!services.mcpEnabled) return [];
  let calls: ToolCalls | undefined;
  let protocol: Promise<McpHttpHandler> | undefined;
  const endpoint: Endpoint = {
    source: '',
    // Made by the first request: the schemas of all tools are of use to agents alone.
    get calls() {
      calls ??= new ToolCalls(services);
      return calls;
    },
    openProtocol() {
      protocol ??= import('./protocol.js').then(({ createProtocol }) =>
        createProtocol(endpoint.calls, services.logger),
      );
      return protocol;
    },
  };
  return [
    defineRoute({
      method: 'POST',
      path: MCP_PATH,
      grant: 'any',
      apiKeyHeader: true,
      endpoint: 'mcp',
      tag: 'Agents',
      summary: 'Model Context Protocol',
      description:
        'The endpoint of agents: tools for link data, images, audio, models and usage, by the Model Context Protocol (Streamable HTTP, stateless). The tools depend on the grants of the API key, and each is a call of its route.',
      headers: { 'MCP-Protocol-Version': 'Revision of the protocol, such as 2026-07-28 or 2025-11-25.' },
      body: { schema: AnyObject, example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
      answers: {
        200: {
          description: 'The response, as JSON or as the last of several events.',
          schema: AnyObject,
          also: {
            'text/event-stream': {
              schema: Type.String({ description: 'Server-sent events: progress, then the response.' }),
            },
          },
        },
        202: { description: 'The notification was received.' },
      },
      errors: ['origin_not_allowed'],
      handler: (context) => answer(context, services, endpoint),
    }),
  ];
}

/** What answers requests, opened when it is needed. */
interface Endpoint {
  /** Where the latest request came from that was let in, by {@link checkSource}. */
  source: string;
  readonly calls: ToolCalls;
  openProtocol(): Promise<McpHttpHandler>;
}

async function answer(context: RequestContext, services: McpServices, endpoint: Endpoint): Promise<void> {
  const { req: incoming, res: response, state } = context;
  checkSource(context, services, endpoint);
  const key = keyOf(context);
  const limits = { maxBytes: MAX_BODY_BYTES, maxValues: MAX_VALUES, budget: services.bodies, owner: quotaSubject(key) };
  const parsedBody = await readJsonBody(incoming, response, limits);
  checkMessage(parsedBody);
  const { handler } = services.inner;
  if (!handler) throw new Error('a request came before the app existed');
  const signal = clientSignal(response);
  // The key is verified; and a token of an agent opens no other route, so its calls name the key of its connection.
  const origin = { request: incoming, requestId: state.requestId, signal, keyId: key.id };
  const callRoute = createCallRoute(handler, origin);
  const caller: Caller = { key, callRoute, signal };
  const { calls } = endpoint;
  const plain = readPlainCall(parsedBody, incoming.headers, { calls, key });
  if (plain) {
    await answerPlainCall(context, plain, { calls, call: caller, logger: services.logger });
    return;
  }
  // Without a signal: what the call does ends with the one of the caller.
  const request = new Request(services.baseUrl() + MCP_PATH, { method: 'POST', headers: headersOf(context) });
  const authInfo = { token: key.id, clientId: key.accountId ?? key.id, scopes: [...key.grants], extra: { caller } };
  const protocol = await endpoint.openProtocol();
  await send(context, await protocol.fetch(request, { authInfo, parsedBody }));
}

/** @throws GatewayError `missing_required_parameter`, `invalid_value`. */
function checkMessage({ jsonrpc, method, result, error }: Readonly<Record<string, unknown>>): void {
  if (jsonrpc !== '2.0') {
    const code = jsonrpc === undefined ? 'missing_required_parameter' : 'invalid_value';
    throw new GatewayError(code, 'jsonrpc must be "2.0": the body is a message of JSON-RPC.', { param: 'jsonrpc' });
  }
  if (typeof method === 'string' || result !== undefined || error !== undefined) return;
  throw new GatewayError('invalid_value', 'method must be the name of a method of the protocol.', { param: 'method' });
}

/** What the package reads of the request. */
function headersOf({ req }: RequestContext): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (typeof value === 'string' && /^(?:content-type|mcp-.*)$/.test(name)) headers.set(name, value);
  }
  // The package refuses clients that do not name both; those without events get the last one as JSON.
  headers.set('accept', `${JSON_TYPE}, ${EVENTS_TYPE}`);
  return headers;
}

async function send(context: RequestContext, answer: Response): Promise<void> {
  const type = answer.headers.get('content-type') ?? undefined;
  if (type?.startsWith(EVENTS_TYPE) && answer.body) {
    if (!context.req.headers.accept?.includes(EVENTS_TYPE)) {
      context.set('Content-Type', JSON_TYPE);
      context.body = lastOf(await answer.text());
      return;
    }
    await sendEvents(context, { status: answer.status, headers: {} }, answer.body as AsyncIterable<Uint8Array>);
    return;
  }
  context.status = answer.status;
  if (type !== undefined) context.set('Content-Type', type);
  if (!answer.body) {
    context.body = '';
    return;
  }
  context.body = Buffer.from(await answer.arrayBuffer());
}

/** The response, which follows the events of progress. */
function lastOf(events: string): string {
  const lines = events.split('\n').filter((line) => line.startsWith('data: '));
  return (lines.at(-1) ?? 'data: {}').slice('data: '.length);
}

/** Requests of one source are checked once in a row. @throws GatewayError `origin_not_allowed`. */
function checkSource({ req }: RequestContext, services: McpServices, endpoint: Endpoint): void {
  const { host, origin } = req.headers;
  const source = `${services.baseUrl()} ${req.socket.localAddress} ${host} ${origin}`;
  if (source === endpoint.source) return;
  checkAddresses(req, services);
  endpoint.source = source;
}

function checkAddresses(req: IncomingMessage, { baseUrl, siteUrl, corsOrigins = [] }: McpServices): void {
  const own = [baseUrl(), ...(siteUrl === undefined ? [] : [siteUrl])].map((url) => new URL(url));
  const isLocal = isLoopbackHost(plainAddress(req.socket.localAddress ?? ''));
  const { origin, host = '' } = req.headers;
  const isAllowed = (from: string) =>
    own.some((one) => one.origin === from) ||
    corsOrigins.some((one) => one === '*' || one === from) ||
    (isLocal && isLoopbackHost(URL.parse(from)?.hostname ?? ''));
  if (origin !== undefined && !isAllowed(origin)) {
    const message = 'Pages of this origin may not call the endpoint: CORS_ORIGINS does not name it.';
    throw new GatewayError('origin_not_allowed', message);
  }
  const name = URL.parse(`http://${host}`)?.hostname ?? host;
  if (!isLocal || isLoopbackHost(name) || own.some(({ hostname }) => hostname === name)) return;
  const message = `The host ${name.slice(0, 100)} is no address of this gateway: set BASE_URL to the address that clients use.`;
  throw new GatewayError('origin_not_allowed', message);
}
