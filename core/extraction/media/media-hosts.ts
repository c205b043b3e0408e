/*
 * Requests parts of files at the media hosts of a platform: only there, over TLS, and with every redirect checked. What
 * a platform names as a file is as untrusted as its pages, so a host that is not on the list is never asked.
 */

import type { HttpClient, HttpRequest, HttpStream } from '../../contracts/index.js';
import { discard, type Hop, nextHop } from '../../net/index.js';
import type { GatewayError } from '../../runtime/index.js';

const MAX_REDIRECTS = 5;

/** Where the files of a platform may be fetched, and what is thrown otherwise. */
export interface MediaHosts {
  http: HttpClient;
  /** Allowed hosts, see {@link Extractor.mediaHosts}; checked for every redirect. */
  mediaHosts: readonly string[];
  /** Origins that may be reached without TLS. */
  trustedOrigins: readonly string[];
  /** The error of a file that cannot be fetched. */
  unavailable(message: string, retryable?: boolean): GatewayError;
}

export interface RangeReply {
  /** The address that answered: further parts are requested from there. */
  hop: Hop;
  reply: HttpStream;
}

/** The request of a file with these headers. @throws the `unavailable` error if its address is no URL. */
export function hopOf(
  { url, headers = {} }: { url: string; headers?: Readonly<Record<string, string>> },
  { unavailable }: Pick<MediaHosts, 'unavailable'>,
): Hop {
  const parsed = URL.parse(url);
  if (!parsed) throw unavailable('The platform gave a source that is not a URL.');
  return { url: parsed, method: 'GET', headers };
}

/**
 * Asks for a range of bytes, or for all without one, and follows redirects.
 * @throws the `unavailable` error if a host is not allowed or redirects go on; what the HTTP client throws.
 */
export async function askRange(
  { http, mediaHosts, trustedOrigins, unavailable }: MediaHosts,
  start: Hop,
  range: string | undefined,
  terms: Pick<HttpRequest, 'signal' | 'maxBytes' | 'timeoutMs' | 'idleMs'>,
): Promise<RangeReply> {
  let hop = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (!isAllowed(hop.url, mediaHosts, trustedOrigins)) {
      throw unavailable('The file is on a host that is not a media host of the platform.', false);
    }
    const headers = { ...hop.headers, ...(range && { range }), 'accept-encoding': 'identity' };
    const reply = await http.stream({ ...terms, url: hop.url, headers });
    const next = nextHop(hop, reply.status, reply.headers.location);
    if (!next) return { hop, reply };
    discard(reply);
    hop = next;
  }
  throw unavailable('The source redirects too often.');
}

function isAllowed(url: URL, mediaHosts: readonly string[], trustedOrigins: readonly string[]): boolean {
  const host = url.hostname.replace(/\.$/, '');
  const known = mediaHosts.some((mediaHost) =>
    mediaHost.startsWith('.') ? host === mediaHost.slice(1) || host.endsWith(mediaHost) : host === mediaHost,
  );
  return known && (url.protocol === 'https:' || trustedOrigins.includes(url.origin));
}

/** `bytes 0-99/1000`; an unknown total is rejected, since the end could not be detected. */
export function readContentRange(text = ''): { start: number; total: number } | undefined {
  const [, start, total] = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(text) ?? [];
  return total === undefined ? undefined : { start: Number(start), total: Number(total) };
}
