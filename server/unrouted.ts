/*
 * Refuses requests without a route, and helps clients: a hint if the base URL or the end of the path is wrong, or if a
 * vendor's route has another name here.
 */

import type Router from '@koa/router';
import { GatewayError } from '../core/runtime/index.js';
import { type RequestContext, type RequestState, routeNotFound } from './http/index.js';

/** Vendor routes that clients know, and their replacements here. */
const INSTEAD: Readonly<Record<string, string>> = {
  '/v1/images/variations': 'Input images go with POST /v1/images/edits.',
  '/v1/completions': 'There is POST /v1/chat/completions.',
  '/v1/v1/messages': 'There is POST /v1/messages: for its clients, a base URL has no /v1.',
};

/** What is wrong with the base URL or the end of a path, if the route exists otherwise. */
function hintOf(
  { method, path }: Pick<RequestContext, 'method' | 'path'>,
  isThere: (path: string) => boolean,
): string | undefined {
  const plain = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  // A base URL without its /v1 is the most common mistake.
  const withVersion = isThere(`/v1${plain}`) ? `/v1${plain}` : undefined;
  const once = plain.replace(/^(?:\/v1)+(?=\/v1\/)/, '');
  if (withVersion !== undefined) return `There is ${method} ${withVersion}: a base URL ends in /v1.`;
  if (!isThere(once)) return undefined;
  if (once !== plain) return `There is ${method} ${once}: the path has /v1 twice.`;
  return `There is ${method} ${once}: ${path.endsWith('/') ? 'the path has no slash at its end' : 'a base URL has no slash at its end'}.`;
}

function allowedOf(matched: readonly { methods: readonly string[] }[]): string {
  return [...new Set(matched.flatMap(({ methods }) => methods))].sort().join(', ');
}

interface UnroutedContext extends RequestContext {
  router?: Router<RequestState>;
  matched?: readonly { methods: readonly string[] }[];
}

/** Below these paths, errors have a format of their own, even without a route. */
export const MESSAGES = /^(?:\/v1)?\/v1\/messages(?:\/|$)/;

/** Routes of operators. Other callers must not find them, so these paths get no hints. */
const HIDDEN = /^\/(?:v1\/)*admin(?:\/|$)/;

const LINK_DATA = /^\/v1\/(?:capabilities$|oembed$|extract(?:\/|$))/;

export function refuseUnrouted(context: UnroutedContext): never {
  const { method, path, router, state, matched = [] } = context;
  if (HIDDEN.test(path.replace(/\/{2,}/g, '/'))) throw routeNotFound(context);
  // Agents that try WebSocket first turn to HTTP at this status, and repeat after any other.
  if (matched.length > 0 && context.req.headers.upgrade?.toLowerCase() === 'websocket') {
    context.set({ Upgrade: 'HTTP/1.1', Connection: 'Upgrade' });
    throw new GatewayError(
      'upgrade_not_supported',
      `${path} does not speak WebSocket. Use ${allowedOf(matched)} over HTTP.`,
    );
  }
  if (MESSAGES.test(path)) state.anthropic = true;
  if (LINK_DATA.test(path)) state.link = {};
  if (matched.length === 0) {
    const hint = INSTEAD[path] ?? hintOf({ method, path }, (other) => router?.match(other, method).route === true);
    throw routeNotFound(context, hint);
  }
  const allowed = allowedOf(matched);
  context.res.setHeader('Allow', allowed);
  throw new GatewayError('method_not_allowed', `${path} accepts ${allowed}.`);
}
