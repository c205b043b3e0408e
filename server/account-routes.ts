import type Router from '@koa/router';
import type { Clock, Gateway, Logger } from 'mediagate';
import type { AccountDependencies, AccountDesks } from './account-services.js';
import {
  addAgentRoutes,
  addDeviceApiRoutes,
  addSignInRoutes,
  addSignOutRoutes,
  addUserRoutes,
  createKeyDesk,
  createLoginNotice,
  createOidcClient,
  createSameOriginGuard,
} from './accounts/index.js';
import type { AddressOf, PollGuard, RequestState } from './http/index.js';
import { type BodyBudget, createBodyBudget } from './http/index.js';
import type { KeyTable } from './keys/index.js';
import { addPaymentRoutes, addPaymentStatusRoute, addPaymentWebhookRoute } from './payments/index.js';
import { addDevicePageRoutes } from './site/index.js';

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
