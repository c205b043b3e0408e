import type { Next, RequestContext } from '../http/index.js';
import type { SessionDesk } from './sessions.js';

/**
 * Stands before routes that act for somebody. Before the guard of their origin too: a program without a session is told to
 * sign in, rather than that it is no page of the site.
 */
export function createSignedInGuard(sessions: SessionDesk) {
  return async (context: RequestContext, next: Next): Promise<void> => {
    await sessions.require(context);
    await next();
  };
}
