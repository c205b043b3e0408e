import type { Next, RequestContext, SiteAddress } from '../http/index.js';

/** Stands before routes of accounts: their 401 says where to sign in. */
export function createLoginNotice(site: () => SiteAddress) {
  return (context: RequestContext, next: Next): Promise<unknown> => {
    context.state.loginUrl = `${site().url}/signin`;
    return next();
  };
}
