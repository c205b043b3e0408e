import type Router from '@koa/router';
import type { AddressOf, Next, RequestContext, RequestState, SiteAddress } from '../http/index.js';
import { type BodyBudget, markPage, networkOwner, readJsonBody, seeOther } from '../http/index.js';
import type { SessionDesk } from './sessions.js';

const MAX_BODY_BYTES = 1_024;

export interface SignOutRoutes {
  sessions: SessionDesk;
  bodies: BodyBudget;
  addressOf: AddressOf;
  /** Lets through what the site's own pages send. */
  sameOrigin(context: RequestContext, next: Next): Promise<void>;
  site(): SiteAddress;
}

/** Ends the session that a request is made with, or all of its user. Whoever has none is as signed out as can be. */
export function addSignOutRoutes(router: Router<RequestState>, options: SignOutRoutes): void {
  const { sessions, bodies, addressOf, sameOrigin, site } = options;

  router.post('/signout', markPage, sameOrigin, async (context: RequestContext) => {
    await sessions.end(context);
    seeOther(context, `${site().url}/`);
  });

  router.post('/signout/everywhere', markPage, sameOrigin, async (context: RequestContext) => {
    await sessions.endAll(context);
    seeOther(context, `${site().url}/`);
  });

  router.delete('/api/agent/sessions', sameOrigin, async (context: RequestContext) => {
    await sessions.endAll(context);
    context.body = signedOut();
  });

  router.delete('/api/agent/session', sameOrigin, async (context: RequestContext) => {
    await sessions.end(context);
    context.body = signedOut();
  });

  router.post('/api/agent/session', sameOrigin, async (context: RequestContext) => {
    // A form of another page cannot have this type, whatever the browser tells of its origin.
    const limits = { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: networkOwner(addressOf(context.req)) };
    await readJsonBody(context.req, context.res, limits);
    await sessions.end(context);
    context.body = signedOut();
  });

  function signedOut() {
    return { authenticated: false, loginUrl: `${site().url}/signin` };
  }
}
