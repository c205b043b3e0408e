import type { Clock, Gateway, Logger } from 'mediagate';
import type { AccountDependencies, AccountDesks } from './account-services.js';
import {
  agentRoutes,
  createKeyDesk,
  createOidcClient,
  deviceApiRoutes,
  signInRoutes,
  signOutRoutes,
  userRoutes,
} from './accounts/index.js';
import { type AddressOf, type BodyBudget, createBodyBudget, type PollGuard, type Route } from './http/index.js';
import type { KeyTable } from './keys/index.js';
import { paymentRoutes, paymentStatusRoutes, paymentWebhookRoutes } from './payments/index.js';
import { devicePageRoutes } from './site/index.js';

export interface AccountRoutes {
  /** All routes of the gateway, these among them. */
  routes: readonly Route[];
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
export function accountRoutes(options: AccountRoutes): Route[] {
  const {
    routes,
    account,
    desks,
    gateway,
    keys: table,
    bodies,
    polls,
    clock,
    logger,
    addressOf,
    drain,
    baseUrl,
  } = options;
  const { sessions, view } = desks;
  const { state, identity, catalogue, freeTierPeriod, pepper, payments, paymentSecrets: secrets, site } = account;
  const { users, signIns, deviceGrants, orders } = state;
  const publicBodies = createBodyBudget(PUBLIC_BODIES);
  const oidc = createOidcClient({ identity, gateway, clock });
  const keyDesk = createKeyDesk({ keys: state.keys, table, pepper, clock, catalogue, freeTierPeriod });
  return [
    ...signInRoutes({ users, signIns, sessions, oidc, clock, addressOf, site }),
    ...signOutRoutes({ sessions, bodies: publicBodies, addressOf, site }),
    ...deviceApiRoutes({ deviceGrants, sessions, bodies: publicBodies, clock, addressOf, site }),
    ...devicePageRoutes({ deviceGrants, sessions, bodies, clock, addressOf, site }),
    ...agentRoutes({ routes, gateway, identity, sessions, view, catalogue, clock, baseUrl, site }),
    ...userRoutes({ sessions, view, keyDesk, bodies, polls, catalogue, clock, site }),
    ...paymentRoutes({ payments, sessions, bodies, polls, clock, site }),
    ...paymentStatusRoutes({ payments, clock, addressOf, drain }),
    ...paymentWebhookRoutes({ orders, keys: table, secrets, bodies: publicBodies, clock, logger, addressOf }),
  ];
}
