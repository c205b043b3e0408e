import type Router from '@koa/router';
import type { Clock, Gateway, Logger, State } from 'mediagate';
import type { AccountDesks } from './account-services.js';
import { addAgentRoutes } from './accounts/agent-routes.js';
import { addDeviceApiRoutes } from './accounts/device-api.js';
import type { Identity } from './accounts/identity.js';
import { createKeyDesk } from './accounts/key-desk.js';
import { createLoginNotice } from './accounts/login-notice.js';
import { createOidcClient } from './accounts/oidc.js';
import { createSameOriginGuard } from './accounts/same-origin.js';
import { addSignInRoutes } from './accounts/sign-in.js';
import { addSignOutRoutes } from './accounts/sign-out.js';
import { addUserRoutes } from './accounts/user-routes.js';
import { type BodyBudget, createBodyBudget } from './http/body-budget.js';
import type { AddressOf } from './http/client-address.js';
import type { PollGuard } from './http/poll-guard.js';
import type { RequestState } from './http/request-state.js';
import type { SiteAddress } from './http/site-address.js';
import type { KeyTable } from './keys/key-table.js';
import type { Pepper } from './keys/keys.js';
import type { PaymentDesk } from './payments/payment-desk.js';
import { addPaymentRoutes } from './payments/payment-routes.js';
import type { PaymentSecrets } from './payments/payment-secrets.js';
import { addPaymentStatusRoute } from './payments/payment-status.js';
import { addPaymentWebhookRoute } from './payments/payment-webhooks.js';
import type { Catalogue } from './plans/catalogue.js';
import type { FreeTierPeriod } from './plans/plan-terms.js';
import { addDevicePageRoutes } from './site/device-page.js';

/** What the account half of the server is made of. */
export interface AccountDependencies {
  state: Pick<State, 'users' | 'accounts' | 'sessions' | 'signIns' | 'deviceGrants' | 'keys' | 'orders' | 'jobs'>;
  identity: Identity;
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
  /** What new keys are hashed with. */
  pepper: Pepper;
  payments: PaymentDesk;
  /** Of those that tell of transfers. */
  paymentSecrets: PaymentSecrets;
  /** Where people reach the site. */
  site(): SiteAddress;
}

export interface AccountRoutes {
  account: AccountDependencies;
  desks: AccountDesks;
  gateway: Gateway;
  keys: KeyTable;
  bodies: BodyBudget;
  polls: PollGuard;
  clock: Clock;
  logger: Logger;
  addressOf: AddressOf;
  /** Aborts when the gateway begins to finish. */
  drain: AbortSignal;
  baseUrl(): string;
}

/** Bodies of callers without a key or a session: they are small, and have a room of their own. */
const PUBLIC_BODIES = { smallBytes: 4 * 1024 * 1024, maxMs: 10_000 };

/** Signing in and out, for browsers and for programs; what the service is, and what somebody has of it. */
export function addAccountRoutes(router: Router<RequestState>, options: AccountRoutes): void {
  const { account, desks, gateway, keys: table, bodies, polls, clock, logger, addressOf, drain, baseUrl } = options;
  const { sessions, view } = desks;
  const { state, identity, catalogue, freeTierPeriod, pepper, payments, paymentSecrets: secrets, site } = account;
  const { users, signIns, deviceGrants } = state;
  const publicBodies = createBodyBudget(PUBLIC_BODIES);
  const sameOrigin = createSameOriginGuard(site);
  const oidc = createOidcClient({ identity, gateway, clock });
  addSignInRoutes(router, { users, signIns, sessions, oidc, clock, addressOf, site });
  addSignOutRoutes(router, { sessions, bodies: publicBodies, addressOf, sameOrigin, site });
  addDeviceApiRoutes(router, { deviceGrants, sessions, bodies: publicBodies, clock, addressOf, site });
  addDevicePageRoutes(router, { deviceGrants, sessions, bodies, clock, addressOf, sameOrigin, site });
  const keyDesk = createKeyDesk({ keys: state.keys, table, pepper, clock, catalogue, freeTierPeriod });
  const notice = createLoginNotice(site);
  addAgentRoutes(router, { gateway, identity, sessions, view, catalogue, clock, baseUrl, site });
  addUserRoutes(router, { sessions, view, keyDesk, bodies, polls, catalogue, clock, site, notice, sameOrigin });
  addPaymentRoutes(router, { payments, sessions, bodies, polls, clock, site, notice, sameOrigin });
  addPaymentStatusRoute(router, { payments, clock, addressOf, drain });
  addPaymentWebhookRoute(router, {
    orders: state.orders,
    keys: table,
    secrets,
    bodies: publicBodies,
    clock,
    logger,
    addressOf,
  });
}
