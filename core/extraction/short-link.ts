import type { HttpClient, HttpStream } from '../contracts/index.js';
import { discard, retryAfterSeconds } from '../net/index.js';
import { boundedWait, GatewayError } from '../runtime/index.js';

const MAX_HOPS = 5;

export interface ShortLinkWalk {
  http: HttpClient;
  url: string;
  /** Whether a hop may be requested: only the platform's own hosts. */
  mayAsk(url: URL): boolean;
  /** Whether the URL is a destination, which is returned without a request. */
  isDestination(url: URL): boolean;
  /** Sent with every hop. */
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/**
 * Resolves a short link hop by hop: at most five, each checked before its request; bodies are never read. Ends at the
 * first URL that is a destination or does not redirect.
 * @throws GatewayError `short_link_dead` (404, 410, a loop, too many hops), `redirected_to_unsupported` (not on the
 *   platform's hosts), `upstream_rate_limited`, `upstream_refused`, `upstream_error`, or what the HTTP client throws.
 */
export async function walkShortLink(walk: ShortLinkWalk): Promise<URL> {
  let url = new URL(walk.url);
  const seen = new Set<string>();
  for (let hops = 0; hops < MAX_HOPS; hops += 1) {
    if (seen.has(url.href)) throw dead('it leads back to itself');
    seen.add(url.href);
    const { status, headers } = await ask(url, walk);
    if (status === 404 || status === 410) throw dead(`HTTP ${status}`);
    if (status === 429) {
      const asked = retryAfterSeconds({ headers });
      throw new GatewayError('upstream_rate_limited', 'The source limits how often it is asked.', {
        retryAfterSeconds: asked === undefined ? undefined : boundedWait(asked),
      });
    }
    if (status >= 500)
      throw new GatewayError('upstream_error', 'The source failed to resolve the short link.', {
        reason: `HTTP ${status}`,
      });
    if (status >= 400)
      throw new GatewayError('upstream_refused', 'The source refused to resolve the short link.', {
        reason: `HTTP ${status}`,
      });
    const next = status >= 300 && headers.location ? URL.parse(headers.location, url) : undefined;
    if (!next) return url;
    if (walk.isDestination(next)) return next;
    if (!walk.mayAsk(next)) {
      throw new GatewayError('redirected_to_unsupported', 'The short link leads away from the platform.', {
        reason: next.hostname,
      });
    }
    url = next;
  }
  throw dead('it redirects too often');
}

async function ask(url: URL, { http, headers, signal }: ShortLinkWalk): Promise<HttpStream> {
  const reply = await http.stream({ url, headers, signal });
  // The target is in the header.
  discard(reply);
  return reply;
}

function dead(reason: string): GatewayError {
  return new GatewayError('short_link_dead', 'The short link leads nowhere.', { reason });
}
