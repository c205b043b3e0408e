import type { Next, RequestContext } from './request-state.js';

/** Errors of these routes say `ok: false`, and which link it was where one is known. */
export function markLinkData(context: RequestContext, next: Next): Promise<unknown> {
  context.state.link = {};
  return next();
}

/** Failures of these routes are classed as the vendors of models do it. */
export function markModel(context: RequestContext, next: Next): Promise<unknown> {
  context.state.model = true;
  return next();
}

/** Errors of these routes have the shape that Anthropic's SDK knows, and every answer the header field that it reads. */
export function markAnthropic(context: RequestContext, next: Next): Promise<unknown> {
  context.state.anthropic = true;
  context.res.setHeader('request-id', context.state.requestId);
  return next();
}

/** Errors of these routes have the shape that clients of OAuth know. */
export function markOauth(context: RequestContext, next: Next): Promise<unknown> {
  context.state.oauth = true;
  return next();
}
