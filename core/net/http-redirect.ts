import type { HttpRequest, HttpStream } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { type HeaderFields, withoutContentFields, withoutCredentials } from './http-headers.js';

/** One request on its way, possibly after redirects. */
export interface Hop {
  url: URL;
  method: string;
  headers: HeaderFields;
  body?: HttpRequest['body'];
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Where an answer sends its reader, or undefined where it is no redirect. What may be sent there follows the Fetch
 * Standard (HTTP-redirect fetch), but that every field that looks like a credential is dropped across origins.
 * @throws GatewayError `upstream_error` where the target is no URL.
 */
export function nextHop(hop: Hop, status: number, location: string | undefined): Hop | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = URL.parse(location, hop.url);
  if (!url) throw new GatewayError('upstream_error', 'The origin redirects to something that is not a URL.');
  const next = becomesGet(hop.method, status)
    ? { url, method: 'GET', headers: withoutContentFields(hop.headers) }
    : { ...hop, url };
  return url.origin === hop.url.origin ? next : { ...next, headers: withoutCredentials(next.headers) };
}

/** Lets go of an answer whose body is not wanted, as of one on the way. */
export function discard(reply: HttpStream): void {
  void reply.body[Symbol.asyncIterator]().return?.();
}

function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return method === 'POST' && (status === 301 || status === 302);
}
