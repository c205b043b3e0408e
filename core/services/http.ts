import type { Clock, HttpClient, HttpRequest } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import { startLifetime } from '../lifetime.js';
import type { AddressGuard } from './address-guard.js';
import { type EgressDispatchers, openDispatchers } from './egress-dispatcher.js';
import { readProxyUrl } from './egress-proxy.js';
import { readResponse, readStream } from './http-answer.js';
import { sendRequest } from './http-exchange.js';
import { httpFailure } from './http-failure.js';

export interface HttpTransportOptions {
  guard: AddressGuard;
  /** Forward proxy that every request leaves through, e.g. `http://user:password@proxy:3128`. Default: none. */
  egressProxyUrl?: string;
  clock: Clock;
}

/** Limits of one user of the transport; no request of its client can go beyond them. */
export interface HttpFaceLimits {
  /** Deadline of each request in milliseconds. */
  timeoutMs: number;
  /** Highest cap a request may ask for, in decoded bytes. Default: none; a request that asks for none gets 8 MiB. */
  maxBytes?: number;
  /** Origins that the guard lets this client reach although they are private. Default: none. */
  trustedOrigins?: readonly string[];
  /** Ends every request of the client. */
  signal?: AbortSignal;
}

/** Connections to the outside, shared by all clients. */
export interface HttpTransport {
  face(limits: HttpFaceLimits): HttpClient;
  /** Cuts what is under way. Idempotent. */
  close(): Promise<void>;
}

/**
 * Makes the transport. Nothing is loaded or opened before the first request.
 * @throws Error where `egressProxyUrl` is no http or https URL.
 */
export function createHttpTransport({ guard, egressProxyUrl, clock }: HttpTransportOptions): HttpTransport {
  const proxy = egressProxyUrl === undefined ? undefined : readProxyUrl(egressProxyUrl);
  const closing = new AbortController();
  let dispatchers: Promise<EgressDispatchers> | undefined;
  const open = () => {
    dispatchers ??= openDispatchers({ guard, proxy, signal: closing.signal });
    return dispatchers;
  };

  return {
    face(limits) {
      const start = ({ timeoutMs, signal }: HttpRequest) =>
        startLifetime({
          clock,
          timeoutMs: Math.min(timeoutMs ?? limits.timeoutMs, limits.timeoutMs),
          signals: [signal, limits.signal, closing.signal],
          late: () => new GatewayError('upstream_timeout', 'The origin did not answer in time.'),
        });
      return {
        async request(request) {
          const lifetime = start(request);
          try {
            return await readResponse(await sendRequest({ request, limits, lifetime, guard, open }));
          } catch (error) {
            throw httpFailure(error, lifetime.signal);
          } finally {
            lifetime.end();
          }
        },
        async stream(request) {
          const lifetime = start(request);
          try {
            return readStream(await sendRequest({ request, limits, lifetime, guard, open }), lifetime);
          } catch (error) {
            const failure = httpFailure(error, lifetime.signal);
            lifetime.end();
            throw failure;
          }
        },
      };
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      const opened = await dispatchers;
      if (opened) await Promise.all([opened.guarded.destroy(), opened.trusted.destroy()]);
    },
  };
}
