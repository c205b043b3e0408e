import type { IncomingMessage } from 'node:http';
import type { Next, RequestContext } from './request-state.js';

/** People who visit these routes with a browser are shown a failure as a page. */
export function markPage(context: RequestContext, next: Next): Promise<unknown> {
  context.state.isPage = true;
  return next();
}

/** Paths of programs: whoever asks for these is told in JSON what went wrong. */
const PROGRAMS = /^\/(v1|api|health|metrics|assets)(\/|$)/;

/** Of most requests, without taking their address apart. */
export function isOfPrograms({ url }: IncomingMessage): boolean {
  return url?.startsWith('/v1/') === true;
}

/** As {@link markPage}, for every address that nothing else is at. */
export function markVisits(context: RequestContext, next: Next): Promise<unknown> {
  return isOfPrograms(context.req) || PROGRAMS.test(context.path) ? next() : markPage(context, next);
}

/** Sends a browser on, by GET, to a path of the site or to an address. */
export function seeOther(context: RequestContext, location: string): void {
  context.status = 303;
  context.set('Location', location);
  context.body = '';
}
