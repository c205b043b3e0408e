/*
 * `GET /v1/responses` as a WebSocket, in the framing of the vendor, which coding agents use: each text message
 * `response.create` is a turn, and each event of the response is a text message. A turn is a call of `POST /v1/responses`
 * with the key of the connection, so each is admitted, limited and settled as a request, and its upstream is asked over
 * HTTP. Turns run one after the other. The connection remembers the items of its last response, so `previous_response_id`
 * works where nothing is stored; a longer memory than 8 MiB is dropped, and the client then sends all items. The
 * connection ends when its key is revoked, after an hour, or with the gateway.
 */

import type { RequestListener } from 'node:http';
import { drawRandomBytes, ERRORS, GatewayError, type Logger } from '../../core/runtime/index.js';
import {
  type CallRoute,
  createCallRoute,
  defineRoute,
  leaveUnanswered,
  type RequestContext,
  type Route,
  RouteFailure,
  Semaphore,
  takeUpgrade,
  toGatewayError,
  WebSocketConnection,
} from '../http/index.js';
import { followKey, type KeyTable, keyOf, quotaSubject } from '../keys/index.js';
import { MODEL_ERRORS, TEXT_ROUTE } from './text.js';

const ROUTE = '/v1/responses';
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
const MAX_MEMORY_BYTES = 8 * 1024 * 1024;
/** As the vendor has it. */
const LIFETIME_MS = 60 * 60_000;
/** Turns that wait for the one before. */
const MAX_WAITING = 8;
const CONNECTIONS = { permits: 500, permitsEach: 32 };

const NORMAL = 1000;
const SHUTTING_DOWN = 1001;
const REFUSED = 1008;

type Fields = Record<string, unknown>;

export interface ResponseSocketServices {
  keys: KeyTable;
  logger: Logger;
  /** Aborts when the shutdown begins. */
  drain: AbortSignal;
  inner: { handler?: RequestListener };
}

export function responseSocketRoutes(services: ResponseSocketServices): Route[] {
  const connections = new Semaphore(CONNECTIONS);
  return [
    defineRoute({
      ...TEXT_ROUTE,
      method: 'GET',
      path: ROUTE,
      endpoint: 'responses',
      summary: 'Responses over WebSocket',
      description:
        'Opens a WebSocket. Each message `response.create` with the fields of a response is a turn, and each event of it is a message. 426 for a request that asks for no WebSocket.',
      answers: { 101: { description: 'The connection is a WebSocket.' } },
      errors: ['upgrade_not_supported', 'queue_full', ...MODEL_ERRORS],
      handler: (context) => open(context, services, connections),
    }),
  ];
}

function open(context: RequestContext, services: ResponseSocketServices, connections: Semaphore): void {
  const { req: request, res: response, state } = context;
  const { keys, drain, inner } = services;
  const key = keyOf(context);
  if (!inner.handler) throw new Error('a request came before the app existed');
  const leave = connections.acquire(quotaSubject(key));
  const upgrade = takeUpgrade(request, response);
  if (!upgrade) {
    leave();
    throw new GatewayError('upgrade_not_supported', `GET ${ROUTE} is a WebSocket. Use POST over HTTP.`);
  }
  leaveUnanswered(context);
  const ending = new AbortController();
  const callRoute = createCallRoute(inner.handler, { request, requestId: state.requestId, signal: ending.signal });
  const turns = new Turns(callRoute, services.logger, state.requestId);
  const followed = followKey(keys, key.id);
  const socket = new WebSocketConnection(request, upgrade.socket, upgrade.head, {
    maxBytes: MAX_MESSAGE_BYTES,
    message: (text) => turns.add(text),
    closed() {
      ending.abort(new GatewayError('bad_request', 'The client closed the connection.'));
      clearTimeout(timer);
      followed.leave();
      drain.removeEventListener('abort', endForShutdown);
      leave();
    },
  });
  turns.socket = socket;
  const endForShutdown = () => void turns.idle().then(() => socket.close(SHUTTING_DOWN, 'The gateway shuts down.'));
  const timer = setTimeout(() => {
    turns.sendError(400, 'websocket_connection_limit_reached', 'The connection is an hour old. Open another one.');
    void turns.idle().then(() => socket.close(NORMAL));
  }, LIFETIME_MS);
  timer.unref();
  followed.ended.addEventListener('abort', () => socket.close(REFUSED, 'The API key may not be used any more.'), {
    once: true,
  });
  if (drain.aborted) endForShutdown();
  else drain.addEventListener('abort', endForShutdown, { once: true });
}

/** What the connection remembers of its last response. */
interface Memory {
  id: string;
  items: unknown[];
}

class Turns {
  socket: WebSocketConnection | undefined;
  readonly #callRoute: CallRoute;
  readonly #logger: Logger;
  readonly #requestId: string;
  #last: Memory | undefined;
  #running: Promise<void> = Promise.resolve();
  #waiting = 0;
  #count = 0;

  constructor(callRoute: CallRoute, logger: Logger, requestId: string) {
    this.#callRoute = callRoute;
    this.#logger = logger;
    this.#requestId = requestId;
  }

  /** Resolves when no turn runs or waits. */
  idle(): Promise<void> {
    return this.#running;
  }

  add(text: string): void {
    if (this.#waiting === MAX_WAITING) {
      this.sendError(429, 'queue_full', `At most ${MAX_WAITING} turns may wait for the one before.`);
      return;
    }
    this.#waiting += 1;
    this.#running = this.#running
      .then(() => this.#turn(text))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  sendError(status: number, code: string, message: string, param: string | null = null): void {
    const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
    this.socket?.send(JSON.stringify({ type: 'error', status, error: { type, code, message, param } }));
  }

  #fail(error: unknown): void {
    if (!this.socket?.isOpen) return;
    if (error instanceof RouteFailure) {
      this.sendError(error.status, error.code, error.message, error.param);
      return;
    }
    const known = toGatewayError(error);
    if (known.code === 'internal_error') {
      this.#logger.error('a turn of a WebSocket failed', { requestId: this.#requestId, error: known.cause });
    }
    this.sendError(ERRORS[known.code].status, known.code, known.message, known.param ?? null);
  }

  async #turn(text: string): Promise<void> {
    if (!this.socket?.isOpen) return;
    const { type, generate, background: _, stream: __, ...sent } = readMessage(text);
    if (type !== 'response.create') {
      throw new GatewayError('invalid_value', 'type must be "response.create".', { param: 'type' });
    }
    const body = this.#withMemory(sent);
    const input = itemsOf(body.input);
    if (generate === false) {
      this.#warmUp(body, input);
      return;
    }
    this.#count += 1;
    const reader = new EventReader();
    const headers = { 'x-request-id': `${this.#requestId.slice(0, 50)}.${this.#count}` };
    const answer = await this.#callRoute({
      method: 'POST',
      path: ROUTE,
      body: { ...body, stream: true },
      headers,
      take: (bytes) => {
        for (const data of reader.read(bytes)) this.#pass(data, input);
      },
    });
    if (answer.json !== undefined) throw new GatewayError('upstream_error', 'The model did not send events.');
  }

  /** The items before are those that the connection remembers; any other response is the upstream's to find. */
  #withMemory(sent: Fields): Fields {
    const { previous_response_id: id, ...rest } = sent;
    if (id === undefined || id === null) return sent;
    if (this.#last?.id === id) return { ...rest, input: [...this.#last.items, ...itemsOf(sent.input)] };
    if (sent.store !== false) return sent;
    const message = `This connection has no response ${String(id).slice(0, 100)}: send all items.`;
    throw new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' });
  }

  /** Prepares a turn without the model: its items are remembered. */
  #warmUp(body: Fields, input: unknown[]): void {
    const id = `resp_${drawRandomBytes(24).toString('hex')}`;
    const response = {
      id,
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      model: body.model,
      output: [],
    };
    this.#remember(id, input);
    const send = (type: string, sequence_number: number, status: string) =>
      this.socket?.send(JSON.stringify({ type, sequence_number, response: { ...response, status } }));
    send('response.created', 0, 'in_progress');
    send('response.completed', 1, 'completed');
  }

  #pass(data: string, input: unknown[]): void {
    if (data === '[DONE]') return;
    this.socket?.send(data);
    if (!data.includes('"response.completed"')) return;
    const { type, response } = JSON.parse(data) as { type?: string; response?: { id: string; output?: unknown[] } };
    if (type === 'response.completed' && response) this.#remember(response.id, [...input, ...(response.output ?? [])]);
  }

  #remember(id: string, items: unknown[]): void {
    this.#last = JSON.stringify(items).length > MAX_MEMORY_BYTES ? undefined : { id, items };
  }
}

function readMessage(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new GatewayError('invalid_json', 'The message is not valid JSON.');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new GatewayError('invalid_json', 'The message must be a JSON object.');
}

/** A text is one message of the user. */
function itemsOf(input: unknown): unknown[] {
  if (Array.isArray(input)) return input;
  return input === undefined || input === null ? [] : [{ type: 'message', role: 'user', content: input }];
}

/** Reads the data of server-sent events. */
class EventReader {
  #rest = '';
  readonly #decoder = new TextDecoder();

  *read(bytes: Uint8Array): Generator<string> {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    for (let end = this.#rest.indexOf('\n\n'); end !== -1; end = this.#rest.indexOf('\n\n')) {
      const lines = this.#rest.slice(0, end).split('\n');
      this.#rest = this.#rest.slice(end + 2);
      const data = lines
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trimStart());
      if (data.length > 0) yield data.join('\n');
    }
  }
}
