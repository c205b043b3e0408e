import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { type AddressGuard, type EgressProxy, HOP_FIELDS } from '../net/index.js';
import {
  createDial,
  createPass,
  type Dial,
  openTunnel,
  type Pass,
  type PassLimits,
  ProxyRefusal,
  statusOf,
} from './filtering-proxy-tunnel.js';

const { createServer } = process.getBuiltinModule('node:http');

export interface ForwardProxyOptions {
  guard: AddressGuard;
  /** The operator's own forward proxy, through which this one leaves. It resolves names. Default: none. */
  egressProxy?: EgressProxy;
}

/** What one client may do and has done. */
export interface IssuedPass {
  /** Credentials for the proxy, unguessable. */
  readonly username: string;
  readonly password: string;
  /** Bytes let through so far, both ways together. */
  readonly bytes: number;
  /** Requests and tunnels that were not let through. */
  readonly refusals: number;
  /** Resolves when there have been more bytes than allowed, and everything was cut for it. */
  readonly spent: Promise<void>;
  /** Cuts what runs under this pass, and refuses what comes after. Idempotent. */
  revoke(): void;
}

/** A forward proxy on 127.0.0.1 for clients that cannot be trusted to guard themselves. */
export interface ForwardProxy {
  readonly port: number;
  issue(limits: PassLimits): IssuedPass;
  /** Cuts everything. */
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** Of all clients together, strangers included; each pass has its own, lower bound. */
const MAX_CONNECTIONS = 512;

/**
 * Starts a forward proxy that goes where the address guard lets it, for the holders of a pass. Plain http comes as
 * absolute-form requests; https and WebSocket come as tunnels (CONNECT), which are not looked into. What the guard found
 * for a name is what is dialled.
 */
export async function startForwardProxy({ guard, egressProxy }: ForwardProxyOptions): Promise<ForwardProxy> {
  const dial = createDial({ guard, egressProxy });
  const passes = new Map<string, Pass>();

  function passOf({ headers }: IncomingMessage): Pass {
    const encoded = /^basic ([A-Za-z0-9+/=]+)$/i.exec(headers['proxy-authorization'] ?? '')?.[1] ?? '';
    const [username = '', password = ''] = Buffer.from(encoded, 'base64').toString('latin1').split(':', 2);
    const pass = passes.get(username);
    if (!pass?.accepts(password)) throw new ProxyRefusal(407);
    return pass;
  }

  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS, requestTimeout: 0 });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('request', (request, response) => {
    // A client that hangs up is not an error; what is on its way for it ends with it.
    response.on('error', () => {});
    const forward = async () => passOf(request).run((pass) => forwardRequest({ request, response, pass, guard, dial }));
    forward().catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy();
      else response.writeHead(statusOf(error), 'Refused', challenge(error)).end();
    });
  });
  server.on('connect', (request, client: Socket, head) => {
    client.on('error', () => {});
    const tunnel = async () =>
      passOf(request).run((pass) => openTunnel({ target: request.url, client, head, pass, guard, dial }));
    tunnel().catch((error: unknown) => {
      if (client.destroyed) return;
      const fields = Object.entries(challenge(error)).map(([name, value]) => `${name}: ${value}\r\n`);
      // A tunnel that is refused is closed: what the client sends next must not be read as another request.
      client.end(`HTTP/1.1 ${statusOf(error)} Refused\r\n${fields.join('')}\r\n`, () => client.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    issue(limits) {
      const username = randomBytes(12).toString('hex');
      const password = randomBytes(24).toString('hex');
      const pass = createPass(password, limits);
      passes.set(username, pass);
      return {
        username,
        password,
        spent: pass.spent,
        get bytes() {
          return pass.bytes;
        },
        get refusals() {
          return pass.refusals;
        },
        revoke() {
          passes.delete(username);
          pass.end();
        },
      };
    },
    async close() {
      for (const pass of passes.values()) pass.end();
      passes.clear();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function challenge(error: unknown): Record<string, string> {
  return statusOf(error) === 407
    ? { 'proxy-authenticate': 'Basic realm="mediagate"', 'content-length': '0' }
    : { 'content-length': '0' };
}

const { request: httpRequest } = process.getBuiltinModule('node:http');

export interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  pass: Pass;
  guard: AddressGuard;
  dial: Dial;
}

const IDLE_MS = 60_000;

/**
 * Sends an absolute-form http request on and its answer back, as they come.
 * @throws what keeps it from being sent; an answer that breaks off ends the client's connection.
 */
export async function forwardRequest({ request, response, pass, guard, dial }: ForwardedRequest): Promise<void> {
  const url = URL.parse(request.url ?? '');
  if (url?.protocol !== 'http:') throw new ProxyRefusal(400);
  guard.checkUrl(url, pass.trustedOrigins);
  const stop = () => response.destroy();
  pass.signal.addEventListener('abort', stop, { once: true });
  try {
    const onward = await openOnward({ request, response, pass, guard, dial }, url);
    onward.setTimeout(IDLE_MS, () => onward.destroy());
    // Once there is an answer, it is the answer that breaks off.
    onward.on('error', () => {});
    // The client may go while it waits for the answer.
    response.once('close', () => onward.destroy());
    const answered = once(onward, 'response') as Promise<[IncomingMessage]>;
    pass.meter(request);
    // A body that breaks off shows as an error of the request it belongs to.
    const sent = pipeline(request, onward).catch(() => {});
    const [answer] = await answered;
    response.sendDate = false;
    // Without the words beside the status: nobody needs them, and some would not be let out again.
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders));
    pass.meter(answer);
    await pipeline(answer, response);
    await sent;
  } finally {
    pass.signal.removeEventListener('abort', stop);
  }
}

async function openOnward({ request, pass, guard, dial }: ForwardedRequest, url: URL): Promise<ClientRequest> {
  const { method = 'GET' } = request;
  const { signal } = pass;
  const headers = ['host', url.host, ...endToEnd(request.rawHeaders)];
  if (dial.egressProxy) return dial.ask({ method, path: url.href, headers, signal });
  const socket = await dial.connect(url, { trusted: guard.isTrusted(url, pass.trustedOrigins), signal });
  return httpRequest({
    method,
    path: url.pathname + url.search,
    headers,
    createConnection: () => socket,
    signal,
  });
}

/** Names and values in turn, as they came. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const fields: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!HOP_FIELDS.has(name.toLowerCase())) fields.push(name, value);
  }
  return fields;
}
