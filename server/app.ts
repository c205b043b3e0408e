/*
 * Assembles the HTTP interface: all routes, the middleware around them, and the values that handlers share. A request
 * passes in this order: request id and security headers, errors, check of raw headers, route, key, grant, body, fields,
 * link, rate limit, work. A request without a route gets a hint if the base URL or the end of the path is wrong. A
 * worker node has health and metrics only. During a shutdown every answer announces the end of its connection.
 */

import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import type { Gateway } from 'mediagate';
import type { Tracer } from '../core/contracts/index.js';
import type { Jobs } from '../core/jobs/index.js';
import { type Clock, type Logger, noSiblings, type Siblings } from '../core/runtime/index.js';
import {
  AccountView,
  agentRoutes,
  createPlay,
  createSessionGuard,
  deviceApiRoutes,
  groupKeyRoutes,
  type Identity,
  requestInputRoutes,
  SessionService,
  signInRoutes,
  signOutRoutes,
  userRoutes,
} from './accounts/index.js';
import { type AdminDependencies, adminRoutes, createAdminGuard, inviteRoutes } from './admin/index.js';
import { audioFileRoutes, speechRoutes, transcriptionRoutes } from './audio/index.js';
import { type Batches, batchRoutes } from './batches/index.js';
import type { Budgets } from './budgets/index.js';
import { consoleRoutes } from './console/index.js';
import {
  AddressLimit,
  App,
  addRoutes,
  allowOrigins,
  answerErrors,
  BodyBudget,
  createAddressOf,
  dispatch,
  FixedWindow,
  type GuardOf,
  type Middleware,
  markVisits,
  newRouter,
  PollGuard,
  type RequestState,
  type Route,
  Semaphore,
  type SiteAddress,
} from './http/index.js';
import type { IdempotencyService } from './idempotency/index.js';
import { AgentTokens, AuthorizationServer, createAgentAuth, identityRoutes } from './identity/index.js';
import { imageFileRoutes, imageGenerationRoutes, imageListRoutes, imageRoutes } from './images/index.js';
import { createAuth, type KeyTable, type Pepper } from './keys/index.js';
import type { RateLimits } from './limits/index.js';
import {
  extractBatchRoutes,
  extractJobRoutes,
  extractRoutes,
  type MediaProxy,
  mediaRoutes,
  oembedRoutes,
  videoRoutes,
} from './links/index.js';
import { llmsTextRoutes, MCP_PATH, mcpRoutes } from './mcp/index.js';
import {
  type ClosableStoredResponses,
  createModelPaths,
  embeddingRoutes,
  messageRoutes,
  modelRoutes,
  responseSocketRoutes,
  storedResponseRoutes,
  textRoutes,
} from './models/index.js';
import { type Health, healthRoutes, type Metrics, metricsRoutes } from './observability/index.js';
import { createApiDocument, openApiRoutes } from './openapi/index.js';
import { invitationRoutes, passkeyRoutes } from './passkeys/index.js';
import {
  balanceRoutes,
  type PaymentSecrets,
  type PaymentService,
  paymentRoutes,
  paymentStatusRoutes,
  paymentWebhookRoutes,
} from './payments/index.js';
import { personalDataRoutes } from './personal-data/index.js';
import type { Catalogue, FreeTierPeriod } from './plans/index.js';
import type { Prices } from './prices/index.js';
import { questionRoutes } from './questions/index.js';
import { type ReceiveDependencies, receive } from './receive.js';
import { type Brand, devicePageRoutes, documentationRoutes, renderFailure, siteRoutes } from './site/index.js';
import type { State } from './state.js';
import type { ServiceStatus } from './status/index.js';
import type { TranscriptOptions } from './transcripts/index.js';
import { refuseUnrouted } from './unrouted.js';
import { type RequestLog, type UsageLog, type UsageService, usageRoutes } from './usage/index.js';
import { SENT_WEBHOOKS, type WebhookService, webhookRoutes } from './webhooks/index.js';

/** The dependencies of an app. */
export interface AppDependencies {
  gateway: Gateway;
  batches: Batches;
  logger: Logger;
  clock: Clock;
  keys: KeyTable;
  rateLimits: RateLimits;
  usage: UsageService;
  answers: IdempotencyService;
  budgets: Budgets;
  usageLog: UsageLog;
  requestLog: RequestLog;
  /** Days for which requests are kept. Default 30. */
  requestLogDays?: number;
  responses: Pick<ClosableStoredResponses, 'unknownItems'>;
  health: Health;
  /** Default: none. */
  prices?: Prices;
  /** Default: `webhook_url` is ignored. */
  webhooks?: WebhookService;
  /** Counts requests. Default: no metrics. */
  metrics?: Metrics;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** User accounts. Default: none, and sign-in is disabled. */
  account?: AccountDependencies;
  /** The admin API. Default: none, and its routes do not exist. */
  admin?: AdminDependencies;
  /** Public address of this gateway, without a trailing slash. Called whenever a link is made. */
  baseUrl(): string;
  /** Whether other image sizes than the named ones are accepted. */
  anyImageSize: boolean;
  /** Images per account and UTC day, of operators' keys. Default: unlimited. */
  imageDailyLimit?: number;
  /** Images per site account and UTC day, if its plan names no limit. Default: as `imageDailyLimit`. */
  accountImageDailyLimit?: number;
  /** Share of a queue, above 0 to 1, that open jobs of a site account may take. Default 0.1. */
  accountQueueShare?: number;
  /** Which requests get media links. Default `off`. */
  mediaProxy?: MediaProxy;
  /** Maximum bytes of an uploaded audio file. Default 26,214,400. */
  audioMaxBytes?: number;
  /** Speech recognition of links. Default: as the settings. */
  transcripts?: TranscriptOptions;
  /** Background jobs of links. */
  jobs: Pick<Jobs, 'accept' | 'waitFor'>;
  /** Maximum bytes of a body on text routes. Default 33,554,432. */
  textMaxBytes?: number;
  /** Whether the routes of Anthropic's format are enabled. Default false. */
  messagesEnabled?: boolean;
  /** Whether the names of the service document are listed for models with names of their own. Default true. */
  modelAliases?: boolean;
  /** Whether agents may call the tools at `/mcp`. Default true. */
  mcpEnabled?: boolean;
  /** Whether agents may sign in at `/mcp`. Default true. */
  mcpSignIn?: boolean;
  /** Origins of pages that may call the API; `*` is every origin. Default: none. */
  corsOrigins?: readonly string[];
  /** Addresses and networks of proxies with a trusted `X-Forwarded-For`. Default: none. */
  trustedProxies?: readonly string[];
  /** URL of the page where keys are made; named in errors about missing keys. Default: not named. */
  siteUrl?: string;
  /** What pages show of the operator. Default: the name and colours of mediagate. */
  brand?: Brand;
  /** Refused requests with a body above 64 KiB per account and minute, before more of them get 429. Default 60. */
  refusedBodiesPerMinute?: number;
  /** Whether metrics are also served here, publicly. Default false. */
  publicMetrics?: boolean;
  /** The other workers of this machine, which count together. Default: none. */
  siblings?: Siblings;
  /** Workers of this machine, which share the room for bodies. Default 1. */
  workers?: number;
}

/** The dependencies of the account part of the server. */
export interface AccountDependencies {
  state: AccountStores;
  identity: Identity;
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
  payments: PaymentService;
  status: Pick<ServiceStatus, 'report'>;
  /** Names of the configured webhook senders. */
  paymentSecrets: PaymentSecrets;
  /** The pepper for hashing new keys. */
  pepper: Pepper;
  /** As that of the playground: links that recorded replies answer. */
  recordedLinks?: readonly string[];
  /** The public address of the site. */
  site(): SiteAddress;
}

/** The part of the state that accounts use. */
type AccountStores = Pick<
  State,
  | 'users'
  | 'accounts'
  | 'sessions'
  | 'signIns'
  | 'deviceGrants'
  | 'invitations'
  | 'passkeys'
  | 'passkeyChallenges'
  | 'agentSignIn'
  | 'orders'
  | 'keys'
  | 'jobs'
  | 'erasures'
  | 'personalExport'
  | 'files'
>;

/** What the routes of an app work with. */
export type AppServices = ReturnType<typeof createServerContext>;
/** What the routes of accounts work with. */
type AppAccountServices = NonNullable<ReturnType<typeof createAccountContext>>;

/**
 * The HTTP interface of a gateway. Order: request id and security headers → errors → raw-header checks → route → key →
 * grant → body → fields → link → rate limit → work.
 */
export function createApp(dependencies: AppDependencies): Koa<RequestState> {
  const server = createServerContext(dependencies);
  const accounts = createAccountContext(server);
  const { keys, clock, siblings, addressOf, siteUrl } = server;
  const failures = new AddressLimit({
    clock,
    siblings,
    name: 'refused keys',
    perMinute: REFUSED_KEYS_PER_MINUTE,
    what: 'Too many refused API keys',
  });
  const auth = createAuth({ keys, failures, addressOf, siteUrl });
  const agentAuth = accounts && createAgentAuth(auth, accounts);
  const visits = accounts ? [markVisits(accounts.sessions)] : [];
  const site = accounts && { sessions: accounts.sessions, address: accounts.site };
  const admit = createAdminGuard({ keys, clock, siblings, addressOf, ...(site && { site }) });
  const guardOf: GuardOf = (route) => {
    const { path, grant, apiKeyHeader, advice } = route;
    if (grant === 'none' || grant === 'signature') return undefined;
    if (grant === 'admin') return admit(route);
    if (path === MCP_PATH && agentAuth) return agentAuth({ grant: 'any', apiKeyHeader });
    if (grant !== 'session') return auth({ grant, apiKeyHeader, advice });
    if (!accounts) throw new Error(`${path} needs accounts, but this app has none`);
    return createSessionGuard(accounts.sessions, accounts.site)(route);
  };
  const app = assemble(createRoutes(server, accounts), {
    ...dependencies,
    unrouted: (route) => [...(accounts ? [createPlay(accounts, route)] : []), ...visits, createModelPaths(route)],
    guardOf,
  });
  server.inner.handler = app.callback();
  return app;
}

type MetricsDependencies = Required<Pick<ReceiveDependencies, 'clock' | 'health' | 'logger' | 'metrics'>>;

/** Only Prometheus metrics, for a separate listener. */
export function createMetricsApp({ metrics, ...rest }: MetricsDependencies): Koa<RequestState> {
  return assemble(metricsRoutes(metrics), rest);
}

/** For a node that only runs jobs: health and metrics. */
export function createWorkerApp(dependencies: ReceiveDependencies): Koa<RequestState> {
  const { health, metrics } = dependencies;
  return assemble([...healthRoutes(health), ...(metrics ? metricsRoutes(metrics) : [])], dependencies);
}

interface AssembleOptions extends ReceiveDependencies {
  /** Origins of pages that may call the API. Default: none. */
  corsOrigins?: readonly string[];
  /**
   * Middleware for requests without a route, before they are refused. Default: none.
   * @param route Looks up a route again.
   */
  unrouted?(route: Middleware): readonly Middleware[];
  /** Default: there are no keys and no sessions, so only public routes are accepted. */
  guardOf?: GuardOf;
}

function guardNone({ path, grant }: Route): undefined {
  if (grant !== 'none') throw new Error(`${path} needs a check that this app does not have`);
  return undefined;
}

function assemble(routes: readonly Route[], options: AssembleOptions): Koa<RequestState> {
  const { logger, unrouted, guardOf = guardNone, corsOrigins = [] } = options;
  const router = newRouter();
  addRoutes(router, routes, guardOf);
  const app = new App();
  // Connections that break during an answer; failures of the request itself are handled elsewhere.
  app.on('error', (error: unknown) => logger.debug('a response did not reach its client', { error }));
  app.use(receive(options));
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));
  app.use(answerErrors(logger, renderFailure));
  const route = dispatch(router);
  app.use(route);
  for (const middleware of unrouted?.(route as Middleware) ?? []) app.use(middleware);
  app.use(refuseUnrouted);
  return app;
}

/** Every route, as it is declared. */
export function createRoutes(server: AppServices, accounts: AppAccountServices | undefined): Route[] {
  const { health, metrics, publicMetrics = false, routes, admin } = server;
  const document = createApiDocument(server, SENT_WEBHOOKS);
  routes.push(
    ...healthRoutes(health),
    ...(metrics && publicMetrics ? metricsRoutes(metrics) : []),
    ...imageRoutes(server),
    ...imageListRoutes(server),
    ...imageGenerationRoutes(server),
    ...imageFileRoutes(server),
    ...webhookRoutes(server),
    ...extractRoutes(server),
    ...extractJobRoutes(server),
    ...extractBatchRoutes(server),
    ...batchRoutes(server),
    ...oembedRoutes(server),
    ...audioFileRoutes(server),
    ...mediaRoutes(server),
    ...videoRoutes(server),
    ...transcriptionRoutes(server),
    ...speechRoutes(server),
    ...textRoutes(server),
    ...responseSocketRoutes(server),
    ...embeddingRoutes(server),
    ...storedResponseRoutes(server),
    ...modelRoutes(server),
    ...messageRoutes(server),
    ...openApiRoutes(document),
    ...usageRoutes(server),
    ...questionRoutes(server),
    ...mcpRoutes(server),
    ...(admin ? adminRoutes({ ...server, ...admin }) : []),
    ...llmsTextRoutes({
      ...server,
      hasSite: accounts !== undefined,
      canSignIn: () => accounts?.authorization.isAvailable() ?? false,
    }),
  );
  if (accounts) {
    routes.push(
      ...signInRoutes(accounts),
      ...signOutRoutes(accounts),
      ...invitationRoutes(accounts),
      ...passkeyRoutes(accounts),
      ...identityRoutes(accounts),
      ...deviceApiRoutes(accounts),
      ...devicePageRoutes(accounts),
      ...agentRoutes(accounts),
      ...userRoutes(accounts),
      ...groupKeyRoutes(accounts),
      ...requestInputRoutes(accounts),
      ...personalDataRoutes(accounts),
      ...paymentRoutes(accounts),
      ...balanceRoutes(accounts),
      ...paymentStatusRoutes(accounts),
      ...paymentWebhookRoutes(accounts),
      ...siteRoutes({ ...accounts, document }),
      ...(admin ? [...inviteRoutes({ ...accounts, ...admin }), ...consoleRoutes({ ...accounts, ...admin })] : []),
      ...documentationRoutes({ document, sessions: accounts.sessions, editUrl: accounts.brand?.editUrl }),
    );
  }
  return routes;
}

/** Maximum concurrent audio uploads beyond 1 MiB: they are on the disk, not in memory. */
const UPLOADS = 32;
/** Refused keys per address and minute. */
const REFUSED_KEYS_PER_MINUTE = 300;
/** Refused requests with a body above 64 KiB per minute of one account, or key without one. */
const REFUSED_BODIES_PER_MINUTE = 60;
const ACCOUNT_QUEUE_SHARE = 0.1;
const AUDIO_MAX_BYTES = 25 * 1024 * 1024;
const TEXT_MAX_BYTES = 32 * 1024 * 1024;
const TRANSCRIPTS: TranscriptOptions = { maxMinutes: 45, waitSeconds: 60 };
/** Bodies of callers without a key or a session: they are small, and have a budget of their own. */
const PUBLIC_BODIES = { smallBytes: 4 * 1024 * 1024, maxMs: 10_000 };

export function createServerContext(dependencies: AppDependencies) {
  const { clock, health, metrics, trustedProxies = [], workers, siblings = noSiblings } = dependencies;
  const { refusedBodiesPerMinute: max = REFUSED_BODIES_PER_MINUTE } = dependencies;
  const refusals = new FixedWindow({ clock, siblings, name: 'refused bodies', max });
  const bodies = new BodyBudget({ refusals, workers });
  metrics?.watch({ bodies });
  return {
    ...dependencies,
    audioMaxBytes: dependencies.audioMaxBytes ?? AUDIO_MAX_BYTES,
    transcripts: dependencies.transcripts ?? TRANSCRIPTS,
    textMaxBytes: dependencies.textMaxBytes ?? TEXT_MAX_BYTES,
    messagesEnabled: dependencies.messagesEnabled ?? false,
    modelAliases: dependencies.modelAliases ?? true,
    mcpEnabled: dependencies.mcpEnabled ?? true,
    mcpSignIn: dependencies.mcpSignIn ?? true,
    accountImageDailyLimit: dependencies.accountImageDailyLimit ?? dependencies.imageDailyLimit,
    accountQueueShare: dependencies.accountQueueShare ?? ACCOUNT_QUEUE_SHARE,
    mediaProxy: dependencies.mediaProxy ?? 'off',
    addressOf: createAddressOf(trustedProxies),
    bodies,
    uploads: new BodyBudget({ bigBodies: UPLOADS, refusals, workers }),
    polls: new PollGuard({ clock, siblings }),
    waiting: new Semaphore(),
    drain: health.drain,
    siblings,
    /** Every route, as it is declared. */
    routes: [] as Route[],
    /** What answers requests of this app, for tools that call its routes; set once the app exists. */
    inner: {} as { handler?: RequestListener },
  };
}

/** Undefined without accounts. */
export function createAccountContext(server: AppServices) {
  const { account, budgets, usageLog, rateLimits, accountImageDailyLimit: imageDailyLimit } = server;
  if (!account) return undefined;
  const { currency } = server.prices ?? {};
  const { clock } = server.keys;
  const { state, ...services } = account;
  const { accounts, keys, jobs, sessions, users, signIns, deviceGrants, orders, erasures, personalExport, files } =
    state;
  const { invitations, passkeys, passkeyChallenges, agentSignIn } = state;
  const authorization = new AuthorizationServer({ ...server, ...services, agentSignIn, users });
  const resource = () => authorization.resource();
  return {
    ...server,
    ...services,
    authorization,
    agentTokens: new AgentTokens({ artifacts: agentSignIn.artifacts, keys: server.keys, resource }),
    users,
    signIns,
    deviceGrants,
    invitations,
    passkeys,
    passkeyChallenges,
    orders,
    erasures,
    personalExport,
    files,
    accounts,
    jobs,
    accountKeys: keys,
    clock,
    sessions: new SessionService(sessions, account.site),
    view: new AccountView({ accounts, keys, jobs, budgets, usageLog, rateLimits, imageDailyLimit, currency, clock }),
    publicBodies: new BodyBudget({ ...PUBLIC_BODIES, workers: server.workers }),
  };
}
