import type { Next, RequestContext } from '../http/request-state.js';
import type { SiteAddress } from '../http/site-address.js';

/** Stands before routes of accounts: their 401 says where to sign in. */
export function createLoginNotice(site: () => SiteAddress) {
  return (context: RequestContext, next: Next): Promise<unknown> => {
    context.state.loginUrl = `${site().url}/signin`;
    return next();
  };
}
