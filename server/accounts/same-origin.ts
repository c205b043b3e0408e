import { GatewayError } from 'mediagate';
import type { Next, RequestContext, SiteAddress } from '../http/index.js';
import { bearerOf } from './sessions.js';

/**
 * Stands before every route that writes with a session: lets a browser's request through only from the site's own pages.
 * Requests with a bearer token pass: no page elsewhere can make a browser add one.
 */
export function createSameOriginGuard(site: () => SiteAddress) {
  return async (context: RequestContext, next: Next): Promise<void> => {
    if (bearerOf(context) === undefined && !isFromOwnPage(context, site())) {
      const message = `This must be sent from a page of ${site().origin}: Origin or Sec-Fetch-Site says otherwise, or both are missing.`;
      throw new GatewayError('cross_site_request', message);
    }
    await next();
  };
}

function isFromOwnPage({ req: { headers } }: RequestContext, { origin }: SiteAddress): boolean {
  const { 'sec-fetch-site': relation, origin: from } = headers;
  // Browsers that know Sec-Fetch-Site may hide the origin of a form as "null".
  if (relation !== undefined)
    return relation === 'same-origin' && (from === undefined || from === 'null' || from === origin);
  return from === origin;
}
