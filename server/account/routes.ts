import type Router from '@koa/router';
import type { AccountState, Clock, Gateway, Logger } from 'mediagate';
import type { BodyBudget } from '../middleware/body-budget.js';
import type { RequestState } from '../middleware/request-state.js';
import { addDeviceApiRoutes } from './device-api.js';
import { addDevicePageRoutes } from './device-page.js';
import type { Identity } from './identity.js';
import { createOidcClient } from './oidc.js';
import { createSameOriginGuard } from './same-origin.js';
import { createSessionDesk } from './sessions.js';
import { addSignInRoutes } from './sign-in.js';
import { addSignOutRoutes } from './sign-out.js';
import type { SiteAddress } from './site-address.js';

/** What the account half of the server is made of. */
export interface AccountDependencies {
  state: Pick<AccountState, 'users' | 'sessions' | 'signIns' | 'deviceGrants'>;
  identity: Identity;
  /** Where people reach the site. */
  site(): SiteAddress;
}

export interface AccountRoutes {
  account: AccountDependencies;
  gateway: Gateway;
  bodies: BodyBudget;
  clock: Clock;
  logger: Logger;
}

/** Signing in and out, for browsers and for programs. */
export function addAccountRoutes(router: Router<RequestState>, options: AccountRoutes): void {
  const { account, gateway, bodies, clock, logger } = options;
  const { state, identity, site } = account;
  const { users, signIns, deviceGrants } = state;
  const sessions = createSessionDesk(state.sessions, site);
  const sameOrigin = createSameOriginGuard(site);
  const oidc = createOidcClient({ identity, gateway, clock, logger });
  addSignInRoutes(router, { users, signIns, sessions, oidc, clock, site });
  addSignOutRoutes(router, { sessions, bodies, sameOrigin, site });
  addDeviceApiRoutes(router, { deviceGrants, sessions, bodies, clock, site });
  addDevicePageRoutes(router, { deviceGrants, sessions, bodies, clock, sameOrigin, site });
}
