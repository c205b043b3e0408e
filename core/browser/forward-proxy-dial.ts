import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { AddressGuard, EgressProxy } from '../net/index.js';
import { GatewayError } from '../runtime/index.js';

const { request: httpRequest } = process.getBuiltinModule('node:http');

/** How connections leave the forward proxy. The guard has judged the URL before. */
export interface Dial {
  /** The operator's own forward proxy, where there is one. */
  readonly egressProxy?: EgressProxy;
  /**
   * A connection to a URL's host and port, by way of the operator's proxy where there is one. Names are resolved here
   * otherwise, and every address is judged unless the origin is trusted.
   * @param signal destroys the connection, established or not.
   * @throws GatewayError `upstream_refused`, `upstream_timeout`, or the error of the socket.
   */
  connect(url: URL, options: { trusted: boolean; signal: AbortSignal }): Promise<Socket>;
  /** A request to the operator's proxy itself. @throws Error where there is none. */
  ask(options: { method: string; path: string; headers: readonly string[]; signal: AbortSignal }): ClientRequest;
}

const CONNECT_MS = 10_000;

export function createDial({ guard, egressProxy }: { guard: AddressGuard; egressProxy?: EgressProxy }): Dial {
  const dial: Dial = {
    egressProxy,
    async connect(url, { trusted, signal }) {
      if (egressProxy) return openTunnel(dial, authorityOf(url), signal);
      const addresses = trusted ? undefined : await guard.addresses(url.hostname, signal);
      return dialAddress(url, addresses, signal);
    },
    ask({ method, path, headers, signal }) {
      if (!egressProxy) throw new Error('there is no egress proxy');
      const { origin, authorization } = egressProxy;
      const send = origin.startsWith('https:') ? httpsRequest : httpRequest;
      return send(origin, {
        method,
        path,
        headers: [...headers, ...(authorization ? ['proxy-authorization', authorization] : [])],
        agent: false,
        signal,
      });
    },
  };
  return dial;
}

/** Nothing is resolved a second time: what the guard found is what is dialled. */
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

function openTunnel(dial: Dial, authority: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const request = dial.ask({ method: 'CONNECT', path: authority, headers: ['host', authority], signal });
    const timer = setTimeout(() => request.destroy(tooSlow()), CONNECT_MS);
    request.on('connect', ({ statusCode }, socket: Socket, head) => {
      clearTimeout(timer);
      // The request is over, and the signal with it; the tunnel ends with the signal all the same.
      socket.on('error', () => {});
      signal.addEventListener('abort', () => socket.destroy(), { once: true });
      if (statusCode !== 200 || signal.aborted) {
        socket.destroy();
        reject(new GatewayError('upstream_error', 'The egress proxy did not let the request through.'));
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

/** Host and port, the port always said. */
function authorityOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}
