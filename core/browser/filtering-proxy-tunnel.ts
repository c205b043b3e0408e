/*
 * The parts of the filtering proxy that count, limit and connect. A pass belongs to one visit: its password, byte
 * limit, number of connections, and trusted origins. When it ends, all its connections close. A tunnel's purpose
 * follows from its port, and its target is checked before it is opened. Connections use the addresses that the guard
 * resolved, without a second lookup, or the operator's egress proxy. A connection without traffic for a minute is
 * closed. Bytes already read from one side still reach the other when a tunnel ends.
 */

import { timingSafeEqual } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { AddressGuard, EgressProxy } from '../net/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';

export interface RequestedTunnel {
  /** Host and port, as the client wrote them. */
  target: string | undefined;
  client: Socket;
  /** Bytes that the client sent in advance. */
  head: Buffer;
  pass: Pass;
  guard: AddressGuard;
  dial: Dial;
}

const IDLE_MS = 60_000;

/** Opens a tunnel and resolves when it has ended. @throws the reason if it cannot be opened. */
export async function openTunnel({ target, client, head, pass, guard, dial }: RequestedTunnel): Promise<void> {
  const { signal, trustedOrigins } = pass;
  const url = readTarget(target ?? '', (candidate) => guard.isTrusted(candidate, trustedOrigins));
  guard.checkUrl(url, trustedOrigins);
  const stop = () => client.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const upstream = await dial.connect(url, { trusted: guard.isTrusted(url, trustedOrigins), signal });
    if (client.destroyed) {
      upstream.destroy();
      return;
    }
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) client.unshift(head);
    await join(client, upstream, pass);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function join(client: Socket, upstream: Socket, pass: Pass): Promise<void> {
  for (const [side, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    side.setTimeout(IDLE_MS, () => side.destroy());
    // Bytes that were read from one side still reach the other.
    side.on('close', () => other.destroySoon());
    pass.meter(side);
  }
  client.pipe(upstream).pipe(client);
  return new Promise((resolve) => client.on('close', resolve));
}

/**
 * The purpose of a tunnel is derived from its port: https on 443, http (that is WebSocket) on 80, and trusted origins
 * on any other.
 */
function readTarget(target: string, isTrusted: (url: URL) => boolean): URL {
  const readings = ['https', 'http'].map((scheme) => URL.parse(`${scheme}://${target}`));
  const urls = readings.filter((url) => url !== null && url.pathname === '/' && `${url.search}${url.hash}` === '');
  const [secure, plain] = urls as URL[];
  if (!secure || !plain || !target.includes(':')) throw new ProxyRefusal(400);
  return [secure, plain].find((url) => url.port === '' || isTrusted(url)) ?? secure;
}

/** Limits of one client of the filtering proxy. */
export interface PassLimits {
  /** Allowed private origins. */
  trustedOrigins: readonly string[];
  /** Maximum content bytes in both directions; beyond it all connections of the client are closed. */
  maxBytes: number;
  /** Maximum concurrent requests and tunnels; more are refused. */
  maxConnections: number;
}

/** An answer of the proxy itself. */
export class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';

  constructor(readonly status: 400 | 403 | 407 | 503) {
    super(`the forward proxy answered ${status}`);
  }
}

/** The HTTP status that reports a failure to a client of the proxy. */
export function statusOf(error: unknown): number {
  if (error instanceof ProxyRefusal) return error.status;
  if (!isGatewayError(error)) return 502;
  if (error.code === 'upstream_refused') return 403;
  return error.code === 'upstream_timeout' ? 504 : 502;
}

/** The proxy's own record of one client. */
export class Pass {
  readonly trustedOrigins: readonly string[];
  readonly #password: Buffer;
  readonly #limits: PassLimits;
  readonly #ending = new AbortController();
  readonly #spent = Promise.withResolvers<void>();
  #bytes = 0;
  #refusals = 0;
  #connections = 0;

  constructor(password: string, limits: PassLimits) {
    this.trustedOrigins = limits.trustedOrigins;
    this.#password = Buffer.from(password);
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get refusals(): number {
    return this.#refusals;
  }

  /** Resolves when the byte limit is exceeded. */
  get spent(): Promise<void> {
    return this.#spent.promise;
  }

  /** Aborts when the pass ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  accepts(password: string): boolean {
    const given = Buffer.from(password);
    return given.length === this.#password.length && timingSafeEqual(given, this.#password);
  }

  /** Runs one request or tunnel and counts it. @throws ProxyRefusal if there are too many, or what the work throws. */
  async run(work: (pass: Pass) => Promise<void>): Promise<void> {
    try {
      if (this.signal.aborted) throw new ProxyRefusal(403);
      if (this.#connections >= this.#limits.maxConnections) throw new ProxyRefusal(503);
      this.#connections++;
      try {
        await work(this);
      } finally {
        this.#connections--;
      }
    } catch (error) {
      if (error instanceof ProxyRefusal || statusOf(error) === 403) this.#refusals++;
      throw error;
    }
  }

  /** Counts the bytes of a stream. Pipe the stream before awaiting anything else. */
  meter(stream: Readable): void {
    stream.on('data', (chunk: Uint8Array) => {
      this.#bytes += chunk.length;
      if (this.#bytes <= this.#limits.maxBytes) return;
      this.#spent.resolve();
      this.end();
    });
  }

  /** Idempotent. */
  end(): void {
    this.#ending.abort(new ProxyRefusal(403));
  }
}

const { request: httpRequest } = process.getBuiltinModule('node:http');

const CONNECT_MS = 10_000;

/** Opens the connections of the filtering proxy. The guard has checked the URL before. */
export class Dial {
  readonly #guard: AddressGuard;
  /** The operator's own forward proxy, if there is one. */
  readonly egressProxy: EgressProxy | undefined;

  constructor({ guard, egressProxy }: { guard: AddressGuard; egressProxy?: EgressProxy }) {
    this.#guard = guard;
    this.egressProxy = egressProxy;
  }

  /**
   * Connects to a URL's host and port, through the operator's proxy if there is one. Otherwise names are resolved here,
   * and every address is checked unless the origin is trusted.
   * @param signal Destroys the connection, established or not.
   * @throws GatewayError `upstream_refused`, `upstream_timeout`, or the error of the socket.
   */
  async connect(url: URL, { trusted, signal }: { trusted: boolean; signal: AbortSignal }): Promise<Socket> {
    if (this.egressProxy) return openEgressTunnel(this, authorityOf(url), signal);
    const addresses = trusted ? undefined : await this.#guard.addresses(url.hostname, signal);
    return dialAddress(url, addresses, signal);
  }

  /** A request to the operator's proxy itself. @throws Error if there is none. */
  ask({ method, path, headers, signal }: EgressRequest): ClientRequest {
    if (!this.egressProxy) throw new Error('there is no egress proxy');
    const { origin, authorization } = this.egressProxy;
    const send = origin.startsWith('https:') ? httpsRequest : httpRequest;
    return send(origin, {
      method,
      path,
      headers: [...headers, ...(authorization ? ['proxy-authorization', authorization] : [])],
      agent: false,
      signal,
    });
  }
}

interface EgressRequest {
  method: string;
  path: string;
  headers: readonly string[];
  signal: AbortSignal;
}

/** No second lookup: the connection uses the address that the guard resolved. */
function dialAddress(url: URL, addresses: readonly string[] | undefined, signal: AbortSignal): Promise<Socket> {
  const found = (addresses ?? []).map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_hostname, { all }, callback) => {
    const [first] = found;
    if (all || !first) callback(null, found);
    else callback(null, first.address, first.family);
  };
  const socket = connect({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: portOf(url),
    autoSelectFamily: true,
    signal,
    ...(addresses && { lookup }),
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(tooSlow()), CONNECT_MS);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}

function openEgressTunnel(dial: Dial, authority: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const request = dial.ask({ method: 'CONNECT', path: authority, headers: ['host', authority], signal });
    const timer = setTimeout(() => request.destroy(tooSlow()), CONNECT_MS);
    request.on('connect', ({ statusCode }, socket: Socket, head) => {
      clearTimeout(timer);
      // The request is over, and its signal too; the tunnel must still end with the signal.
      socket.on('error', () => {});
      signal.addEventListener('abort', () => socket.destroy(), { once: true });
      if (statusCode !== 200 || signal.aborted) {
        socket.destroy();
        reject(new GatewayError('upstream_error', 'The egress proxy refused the request.'));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.end();
  });
}

function tooSlow(): GatewayError {
  return new GatewayError('upstream_timeout', 'The origin did not answer in time.');
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

/** Host and port, always with the port. */
function authorityOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}
