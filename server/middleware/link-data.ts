import type { Next, RequestContext } from './request-state.js';

/** Errors of these routes say `ok: false`, and which link it was where one is known. */
export function markLinkData(context: RequestContext, next: Next): Promise<unknown> {
  context.state.link = {};
  return next();
}
