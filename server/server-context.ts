import type { Clock, Gateway, Logger, Tracer } from 'mediagate';
import type { AccountView, Identity, SessionService } from './accounts/index.js';
import { createAccountView, createSessionService } from './accounts/index.js';
import {
  type AddressOf,
  type BodyBudget,
  createAddressOf,
  createBodyBudget,
  createFixedWindow,
  createPollGuard,
  createSemaphore,
  type PollGuard,
  type Route,
  type Semaphore,
  type SiteAddress,
} from './http/index.js';
import type { IdempotencyService } from './idempotency/index.js';
import type { KeyTable, Pepper } from './keys/index.js';
import type { Windows } from './limits/index.js';
import type { Health, Metrics } from './observability/index.js';
import type { PaymentSecrets, PaymentService } from './payments/index.js';
import type { Catalogue, FreeTierPeriod } from './plans/index.js';
import type { State } from './state.js';
import type { Budgets, UsageLog, UsageService } from './usage/index.js';
import type { WebhookService } from './webhooks/index.js';

/** Sounds beyond 1 MiB that are on their way, or in use, at the same time: they are on the disk, not in memory. */
const UPLOADS = 32;
/** Requests with a body above 64 KiB that one account, or key without one, may have refused in a minute. */
const REFUSED_BODIES_PER_MINUTE = 60;
const AUDIO_MAX_BYTES = 25 * 1024 * 1024;
/** Bodies of callers without a key or a session: they are small, and have a room of their own. */
const PUBLIC_BODIES = { smallBytes: 4 * 1024 * 1024, maxMs: 10_000 };

/** What an app is made from. */
export interface AppDependencies {
  gateway: Gateway;
  windows: Windows;
  usage: UsageService;
  answers: IdempotencyService;
  budgets: Budgets;
  ledger: UsageLog;
  keys: KeyTable;
  health: Health;
  logger: Logger;
  clock: Clock;
  /** Public address of this gateway, without a trailing slash. Asked whenever a link is made. */
  baseUrl(): string;
  /** Whether image sizes beside the named ones are accepted. */
  anyImageSize: boolean;
  /** Images that an account may ask for on one day (UTC). Default: any number. */
  imageDailyLimit?: number;
  /** Bytes of one sound that is sent. Default 26,214,400. */
  audioMaxBytes?: number;
  /** Whether the routes of Anthropic's format do anything. Default false. */
  messagesEnabled?: boolean;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. Default: none. */
  trustedProxies?: readonly string[];
  /** Accounts of people. Default: there are none, and nobody signs in. */
  account?: AccountDependencies;
  /** Default: `webhook_url` is ignored. */
  webhooks?: WebhookService;
  /** Where keys are made; named in errors about missing keys. Default: not named. */
  siteUrl?: string;
  /** Counts requests. Default: nobody does. */
  metrics?: Metrics;
  /** Default: there are no traces. */
  tracer?: Tracer;
  /** Refused requests with a body above 64 KiB of one account in a minute, before more of them are 429. Default 60. */
  refusedBodiesPerMinute?: number;
  /** Whether they are served here as well, to everybody. Default false. */
  publicMetrics?: boolean;
}

/** What the account half of the server is made of. */
export interface AccountDependencies {
  state: Pick<State, 'users' | 'accounts' | 'sessions' | 'signIns' | 'deviceGrants' | 'keys' | 'orders' | 'jobs'>;
  identity: Identity;
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
  /** What new keys are hashed with. */
  pepper: Pepper;
  payments: PaymentService;
  /** Of those that tell of transfers. */
  paymentSecrets: PaymentSecrets;
  /** Where people reach the site. */
  site(): SiteAddress;
}

/** What the handlers of routes share. Each app has one. */
export interface ServerContext extends AppDependencies {
  audioMaxBytes: number;
  messagesEnabled: boolean;
  addressOf: AddressOf;
  /** Bodies in memory. */
  bodies: BodyBudget;
  /** Forms, whose sounds are on the disk. */
  uploads: BodyBudget;
  polls: PollGuard;
  /** Requests that wait for an image. */
  waiting: Semaphore;
  /** Aborts when the gateway begins to finish. */
  drain: AbortSignal;
  /** Every route, as it is declared. */
  routes: Route[];
}

/** The same for routes of accounts. */
export interface AccountContext extends ServerContext {
  account: AccountDependencies;
  sessions: SessionService;
  view: AccountView;
  /** Bodies of callers without a key or a session. */
  publicBodies: BodyBudget;
}

export function createServerContext(dependencies: AppDependencies): ServerContext {
  const { clock, health, metrics, trustedProxies = [], refusedBodiesPerMinute } = dependencies;
  const refusals = createFixedWindow(clock, refusedBodiesPerMinute ?? REFUSED_BODIES_PER_MINUTE);
  const bodies = createBodyBudget({ refusals });
  metrics?.watch({ bodies });
  return {
    ...dependencies,
    audioMaxBytes: dependencies.audioMaxBytes ?? AUDIO_MAX_BYTES,
    messagesEnabled: dependencies.messagesEnabled ?? false,
    addressOf: createAddressOf(trustedProxies),
    bodies,
    uploads: createBodyBudget({ bigBodies: UPLOADS, refusals }),
    polls: createPollGuard(clock),
    waiting: createSemaphore(),
    drain: health.drain,
    routes: [],
  };
}

/** Undefined where there are no accounts. */
export function createAccountContext(server: ServerContext): AccountContext | undefined {
  const { account, budgets, ledger, windows, imageDailyLimit, clock } = server;
  if (!account) return undefined;
  const { state, site } = account;
  const { accounts, keys, jobs } = state;
  return {
    ...server,
    account,
    sessions: createSessionService(state.sessions, site),
    view: createAccountView({ accounts, keys, jobs, budgets, ledger, windows, imageDailyLimit, clock }),
    publicBodies: createBodyBudget(PUBLIC_BODIES),
  };
}
