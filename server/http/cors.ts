/*
 * Cross-origin requests to the API and the endpoint of agents, for pages of other origins that send a key of their own user. Cookies are never
 * allowed: no answer has `Access-Control-Allow-Credentials`, so the session of the site is not usable from elsewhere.
 */

import type { Next, RequestContext } from './koa-app.js';

const API = '/v1/';
const AGENTS = '/mcp';
/** Sign-in for agents, without its pages. */
const AGENT_SIGN_IN = /^\/(?:\.well-known\/(?:oauth|openid)-|oauth\/(?:token|register|revoke|keys)$)/;
const METHODS = 'GET, POST, DELETE';
/** Seconds that browsers cache the answer to a preflight; Chromium caches it no longer. */
const MAX_AGE = '7200';
/** Headers of answers that pages may read besides the usual ones. */
const EXPOSED = [
  'Location',
  'Retry-After',
  'WWW-Authenticate',
  'RateLimit',
  'RateLimit-Policy',
  'Request-Id',
  'X-Ignored-Params',
  'X-Mediagate-Cost',
  'X-Mediagate-Stand-In',
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
  'X-Request-Id',
  'X-Should-Retry',
  'X-Upstream-Request-Id',
].join(', ');
/** A list of header names. */
const NAMES = /^[\w!#$%&'*+.^`|~, -]{1,4000}$/;

/**
 * Lets pages of these origins call the API, and answers their preflight requests.
 * @param origins `*` alone allows every origin.
 */
export function allowOrigins(origins: readonly string[]) {
  const allowed = new Set(origins);
  const isOpen = allowed.has('*');

  return async (context: RequestContext, next: Next): Promise<unknown> => {
    const { req: request, res: response } = context;
    const { url = '' } = request;
    if (!url.startsWith(API) && url !== AGENTS && !AGENT_SIGN_IN.test(url)) return next();
    // An answer for one origin must not be cached for another.
    if (!isOpen) response.setHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !(isOpen || allowed.has(origin))) return next();
    response.setHeader('Access-Control-Allow-Origin', isOpen ? '*' : origin);
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (!isPreflight) {
      response.setHeader('Access-Control-Expose-Headers', EXPOSED);
      return next();
    }
    const names = request.headers['access-control-request-headers'];
    response.setHeader('Access-Control-Allow-Methods', METHODS);
    if (names !== undefined && NAMES.test(names)) response.setHeader('Access-Control-Allow-Headers', names);
    response.setHeader('Access-Control-Max-Age', MAX_AGE);
    context.status = 204;
    return undefined;
  };
}
