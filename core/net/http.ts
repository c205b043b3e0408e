import type { HttpClient, HttpRequest } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import type { AddressGuard } from './address-guard.js';
import { type EgressDispatchers, openDispatchers } from './egress-dispatcher.js';
import { readProxyUrl } from './egress-proxy.js';
import { type Answer, readResponse, readStream } from './http-answer.js';
import { sendRequest } from './http-exchange.js';
import { httpFailure } from './http-failure.js';
import { RequestLife, RequestLives } from './request-life.js';

export interface HttpTransportOptions {
  guard: AddressGuard;
  /** Forward proxy that every request leaves through, e.g. `http://user:password@proxy:3128`. Default: none. */
  egressProxyUrl?: string;
}

/** Limits of one user of the transport; no request of its client can go beyond them. */
export interface HttpFaceLimits {
  /** Deadline of each request in milliseconds. */
  timeoutMs: number;
  /** Highest cap a request may ask for, in decoded bytes. Default: none; a request that asks for none gets 8 MiB. */
  maxBytes?: number;
  /** Origins that the guard lets this client reach although they are private. Default: none. */
  trustedOrigins?: readonly string[];
  /** The same for a request's own URL alone: no redirect from elsewhere leads there. Default: none. */
  configuredOrigins?: readonly string[];
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
export function createHttpTransport({ guard, egressProxyUrl }: HttpTransportOptions): HttpTransport {
  const proxy = egressProxyUrl === undefined ? undefined : readProxyUrl(egressProxyUrl);
  const closing = new AbortController();
  let opening: Promise<EgressDispatchers> | undefined;
  let opened: EgressDispatchers | undefined;
  const open = () => {
    if (opened) return opened;
    opening ??= openDispatchers({ guard, proxy, signal: closing.signal }).then((dispatchers) => (opened = dispatchers));
    return opening;
  };

  return {
    face(limits) {
      const lives = new RequestLives(limits.signal ? [limits.signal, closing.signal] : [closing.signal]);
      const exchange = {
        limits,
        // Made once: what the guard said of a URL is kept for the list that it was asked with.
        ownOrigins: [...(limits.trustedOrigins ?? []), ...(limits.configuredOrigins ?? [])],
        guard,
        open,
      };
      const start = ({ timeoutMs = limits.timeoutMs, signal }: HttpRequest) =>
        new RequestLife({ timeoutMs: Math.min(timeoutMs, limits.timeoutMs), signal, lives });
      return {
        async request(request) {
          const life = start(request);
          try {
            return await readResponse(await sendRequest({ ...exchange, request, life }));
          } catch (error) {
            throw httpFailure(error, life);
          } finally {
            life.finish();
          }
        },
        stream(request) {
          const life = start(request);
          const opened = (answer: Answer) => {
            if (request.idleMs !== undefined) life.allowSilence(request.idleMs);
            return readStream(answer, life);
          };
          const failed = (error: unknown): never => {
            const failure = httpFailure(error, life);
            life.finish();
            throw failure;
          };
          return sendRequest({ ...exchange, request, life }).then(opened, failed);
        },
      };
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      const dispatchers = await opening;
      if (dispatchers) await Promise.all([...new Set(Object.values(dispatchers))].map((one) => one.destroy()));
    },
  };
}
