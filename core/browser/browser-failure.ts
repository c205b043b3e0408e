import { GatewayError } from '../runtime/index.js';

/** First match wins. Messages of playwright-core, and Chromium's own names of network failures in them. */
const FAILURES: readonly (readonly [RegExp, 'upstream_error' | 'upstream_timeout', string])[] = [
  [/net::ERR_(?:TIMED_OUT|CONNECTION_TIMED_OUT)/, 'upstream_timeout', 'The origin did not answer in time.'],
  [/net::ERR_(?:TUNNEL_CONNECTION_FAILED|PROXY_)/, 'upstream_error', 'The origin could not be reached.'],
  [/net::ERR_(?:CERT_|SSL_)/, 'upstream_error', 'No secure connection to the origin could be made.'],
  [/net::ERR_/, 'upstream_error', 'The page could not be loaded.'],
  [/has been closed|Target closed|crashed/i, 'upstream_error', 'The page was closed.'],
];

/**
 * What went wrong with a page, in words that may be shown: the message of the browser holds the URL. What is none of the
 * browser's failures (an error in a script, say) stays as it is.
 */
export function browserFailure(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'TimeoutError') {
    return new GatewayError('upstream_timeout', 'The page did not get ready in time.', { cause: error });
  }
  const known = FAILURES.find(([message]) => message.test(error.message));
  return known ? new GatewayError(known[1], known[2], { cause: error }) : error;
}
