/*
 * A forward proxy on 127.0.0.1 for browsers, which cannot be trusted to check addresses themselves. It connects only
 * where the address guard allows and only for clients with a pass, whose credentials are random. Plain http arrives as
 * absolute-form requests, https and WebSocket as tunnels that it cannot read. At most 512 connections are open for all
 * clients together; each pass has a lower limit. Hop-by-hop fields are removed in both directions. A refusal is an
 * HTTP status, and a refused tunnel is closed so its next bytes are not read as a request.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { type AddressGuard, type EgressProxy, HOP_FIELDS } from '../net/index.js';
import { Dial, openTunnel, Pass, type PassLimits, ProxyRefusal, statusOf } from './filtering-proxy-tunnel.js';

const { createServer } = process.getBuiltinModule('node:http');

export interface ForwardProxyOptions {
  guard: AddressGuard;
  /** The operator's own forward proxy, which this one connects through. It resolves names. Default: none. */
  egressProxy?: EgressProxy;
}

/** Limits and counters of one client. */
export interface IssuedPass {
  /** Unguessable credentials for the proxy. */
  readonly username: string;
  readonly password: string;
  /** Bytes passed so far, in both directions. */
  readonly bytes: number;
  /** Number of refused requests and tunnels. */
  readonly refusals: number;
  /** Resolves when the byte limit was exceeded and everything was closed. */
  readonly spent: Promise<void>;
  /** Closes everything of this pass, and refuses later requests. Idempotent. */
  revoke(): void;
}

/** A forward proxy on 127.0.0.1 for clients that cannot be trusted to guard themselves. */
export interface ForwardProxy {
  readonly port: number;
  issue(limits: PassLimits): IssuedPass;
  /** Closes everything. */
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** For all clients together, including strangers; each pass has its own, lower limit. */
const MAX_CONNECTIONS = 512;

/**
 * Starts a forward proxy that connects only where the address guard allows, for clients with a pass. Plain http comes
 * as absolute-form requests; https and WebSocket come as tunnels (CONNECT), which are opaque. Connections use the
 * addresses that the guard resolved.
 */
export async function startForwardProxy({ guard, egressProxy }: ForwardProxyOptions): Promise<ForwardProxy> {
  const dial = new Dial({ guard, egressProxy });
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
    // A client that disconnects is no error; its request is aborted.
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
      // A refused tunnel is closed: the client's next bytes must not be read as another request.
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
      const pass = new Pass(password, limits);
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
 * Forwards an absolute-form http request and streams its answer.
 * @throws the reason if it cannot be sent; an answer that breaks off closes the client's connection.
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
    // After the headers, a failure means that the answer broke off.
    onward.on('error', () => {});
    // The client may disconnect while it waits for the answer.
    response.once('close', () => onward.destroy());
    const answered = once(onward, 'response') as Promise<[IncomingMessage]>;
    pass.meter(request);
    // A body that breaks off is reported as an error of its request.
    const sent = pipeline(request, onward).catch(() => {});
    const [answer] = await answered;
    response.sendDate = false;
    // Without the status message, which is not needed and may be invalid.
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

/** Alternating names and values, as received. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const fields: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!HOP_FIELDS.has(name.toLowerCase())) fields.push(name, value);
  }
  return fields;
}
