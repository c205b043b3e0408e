import type { Next, RequestContext } from './request-state.js';

/** Failures of these routes are classed as the vendors of models do it. */
export function markModel(context: RequestContext, next: Next): Promise<unknown> {
  context.state.model = true;
  return next();
}
