import type Router from '@koa/router';
import type Koa from 'koa';
import { type Clock, type Gateway, GatewayError, type Logger, type Tracer } from 'mediagate';
import { accountRoutes } from './account-routes.js';
import { type AccountDependencies, type AccountDesks, createAccountDesks } from './account-services.js';
import { createPlay, createSessionGuard } from './accounts/index.js';
import { audioFileRoutes, speechRoutes, transcriptionRoutes } from './audio/index.js';
import {
  App,
  addField,
  addRoutes,
  answerErrors,
  createAddressOf,
  createAuthFailures,
  createBodyBudget,
  createFixedWindow,
  createPollGuard,
  createWaitingRoom,
  dispatch,
  type GuardOf,
  logRequest,
  type Middleware,
  markVisits,
  type Next,
  newRouter,
  type RequestContext,
  type RequestState,
  type Route,
  type RoutedContext,
  requestIdOf,
  setSecurityHeaders,
} from './http/index.js';
import type { AnswerDesk } from './idempotency/index.js';
import { createImageSubmitter, imageFileRoutes, imageGenerationRoutes, imageRoutes } from './images/index.js';
import type { KeyTable } from './keys/index.js';
import { createAuth } from './keys/index.js';
import type { Windows } from './limits/index.js';
import { extractBatchRoutes, extractRoutes } from './links/index.js';
import { messageRoutes, modelRoutes, storedResponseRoutes, textRoutes } from './models/index.js';
import type { Health, Metrics } from './observability/index.js';
import { endRequestSpan, handleInSpan, healthRoutes, metricsRoutes } from './observability/index.js';
import { openApiRoutes } from './openapi/index.js';
import { renderFailure, siteRoutes } from './site/index.js';
import type { Budgets, UsageDesk, UsageLedger } from './usage/index.js';
import { usageRoutes } from './usage/index.js';
import type { WebhookDesk } from './webhooks/index.js';
import { IMAGE_WEBHOOK, webhookRoutes } from './webhooks/index.js';

/** Sounds beyond 1 MiB that are on their way, or in use, at the same time: they are on the disk, not in memory. */
const UPLOADS = 32;
/** Requests with a body above 64 KiB that one account, or key without one, may have refused in a minute. */
const REFUSED_BODIES_PER_MINUTE = 60;
const AUDIO_MAX_BYTES = 25 * 1024 * 1024;

export interface AppDependencies {
  gateway: Gateway;
  windows: Windows;
  usage: UsageDesk;
  answers: AnswerDesk;
  budgets: Budgets;
  ledger: UsageLedger;
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
  webhooks?: WebhookDesk;
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

type ReceiveDependencies = Pick<AppDependencies, 'clock' | 'health' | 'logger' | 'metrics' | 'tracer'> &
  Partial<Pick<AppDependencies, 'baseUrl'>>;

/**
 * The HTTP face of a gateway. Order: request id and security headers → errors → raw-header checks → route → key → grant
 * → body → fields → link → slot → work.
 */
export function createApp(dependencies: AppDependencies): Koa<RequestState> {
  const { account, keys, clock } = dependencies;
  const desks = desksOf(dependencies);
  const before = account && desks ? [markVisits, createPlay({ account, desks, keys, clock })] : [];
  const addressOf = createAddressOf(dependencies.trustedProxies ?? []);
  const auth = createAuth({ keys, failures: createAuthFailures(clock), addressOf, siteUrl: dependencies.siteUrl });
  const ofSession = account && desks && createSessionGuard(desks.sessions, account.site);
  const guardOf: GuardOf = (route) => {
    const { path, grant, apiKeyHeader } = route;
    if (grant === 'none' || grant === 'signature') return undefined;
    if (grant !== 'session') return auth({ grant, apiKeyHeader });
    if (!ofSession) throw new Error(`${path} needs accounts, and there are none`);
    return ofSession(route);
  };
  return assemble(routesWith(dependencies, desks), { ...dependencies, before, guardOf });
}

/** Figures for Prometheus alone, for a listener of their own. */
export function createMetricsApp({
  metrics,
  ...rest
}: Required<Omit<ReceiveDependencies, 'tracer' | 'baseUrl'>>): Koa<RequestState> {
  return assemble(metricsRoutes(metrics), rest);
}

/** A node that only runs jobs: how it fares, and figures. */
export function createWorkerApp(dependencies: ReceiveDependencies): Koa<RequestState> {
  const { health, metrics } = dependencies;
  return assemble([...healthRoutes(health), ...(metrics ? metricsRoutes(metrics) : [])], dependencies);
}

interface AssembleOptions extends ReceiveDependencies {
  /** What stands between the answering of errors and the routes. Default: nothing. */
  before?: readonly Middleware[];
  /** Default: every route is for everybody. */
  guardOf?: GuardOf;
}

function assemble(routes: readonly Route[], options: AssembleOptions): Koa<RequestState> {
  const { logger, before = [], guardOf = () => undefined } = options;
  const router = newRouter();
  addRoutes(router, routes, guardOf);
  const app = new App();
  // Connections that break while an answer is on its way; the request's own failures never come here.
  app.on('error', (error: unknown) => logger.debug('an answer did not reach its client', { error }));
  app.use(receive(options));
  app.use(answerErrors(logger, renderFailure));
  for (const middleware of before) app.use(middleware);
  app.use(dispatch(router));
  app.use(refuseUnrouted);
  return app;
}

/** Every route, as it is declared. */
export function createRoutes(dependencies: AppDependencies): Route[] {
  return routesWith(dependencies, desksOf(dependencies));
}

function desksOf({ account, ...dependencies }: AppDependencies): AccountDesks | undefined {
  if (!account) return undefined;
  const { budgets, ledger, windows, imageDailyLimit, clock } = dependencies;
  return createAccountDesks({ account, budgets, ledger, windows, imageDailyLimit, clock });
}

function routesWith(dependencies: AppDependencies, desks: AccountDesks | undefined): Route[] {
  const { gateway, windows, usage, answers, budgets, ledger, keys, health, clock, logger, account } = dependencies;
  const { baseUrl, anyImageSize, imageDailyLimit, webhooks, metrics, publicMetrics = false } = dependencies;
  const { audioMaxBytes = AUDIO_MAX_BYTES, messagesEnabled = false } = dependencies;
  const addressOf = createAddressOf(dependencies.trustedProxies ?? []);
  const refusals = createFixedWindow(clock, dependencies.refusedBodiesPerMinute ?? REFUSED_BODIES_PER_MINUTE);
  const bodies = createBodyBudget({ refusals });
  const uploads = createBodyBudget({ bigBodies: UPLOADS, refusals });
  metrics?.watch({ bodies });
  const polls = createPollGuard(clock);
  const limits = { anySize: anyImageSize, dailyLimit: imageDailyLimit };
  const submit = createImageSubmitter({ gateway, bodies, ...limits, webhookTargets: webhooks?.targets });
  const { drain } = health;
  const images = { gateway, submit, polls, waiting: createWaitingRoom(), drain, clock, baseUrl };
  const audio = { gateway, usage, answers, bodies, uploads, audioMaxBytes };
  const routes: Route[] = [];
  routes.push(
    ...healthRoutes(health),
    ...(metrics && publicMetrics ? metricsRoutes(metrics) : []),
    ...imageRoutes(images),
    ...imageGenerationRoutes(images),
    ...imageFileRoutes({ gateway, clock }),
    ...webhookRoutes({ polls, secrets: webhooks?.secrets }),
    ...extractRoutes({ gateway, windows, bodies, polls }),
    ...extractBatchRoutes({ gateway, windows, answers, bodies }),
    ...audioFileRoutes({ gateway, clock }),
    ...transcriptionRoutes(audio),
    ...speechRoutes(audio),
    ...textRoutes({ gateway, bodies, usage }),
    ...storedResponseRoutes({ gateway, polls }),
    ...modelRoutes({ gateway, messagesEnabled }),
    ...messageRoutes({ gateway, bodies, usage, clock, messagesEnabled }),
    ...openApiRoutes({ routes, webhooks: [IMAGE_WEBHOOK], baseUrl }),
    ...usageRoutes({ windows, budgets, ledger, polls, clock }),
  );
  if (account && desks) {
    const shared = { account, desks, gateway, clock, baseUrl };
    routes.push(
      ...accountRoutes({ ...shared, routes, keys, bodies, polls, logger, addressOf, drain }),
      ...siteRoutes(shared),
    );
  }
  return routes;
}

function receive({ clock, health, logger, metrics, tracer, baseUrl }: ReceiveDependencies) {
  return async (context: RoutedContext, next: Next): Promise<void> => {
    const { state, res: response } = context;
    const startedAt = clock.monotonic();
    state.startedAt = startedAt;
    state.requestId = requestIdOf(context.req);
    const open = metrics?.requestCame(response);
    addField(response, 'x-request-id', state.requestId);
    setSecurityHeaders(response, baseUrl?.().startsWith('https:') === true);
    // Now, for answers that begin before their handler is done.
    if (health.draining) response.setHeader('Connection', 'close');
    await (tracer ? handleInSpan(tracer, context, next) : next());
    if (health.draining) endConnection(context);
    const route = context._matchedRoute?.toString();
    const ms = clock.monotonic() - startedAt;
    logRequest(logger, context, route, ms);
    const { errorCode: code } = state;
    const hasWindow = code !== undefined && response.hasHeader('ratelimit-policy');
    if (metrics && open) {
      const done = { route, method: context.req.method ?? '', status: response.statusCode, ms, code, hasWindow };
      metrics.requestDone(open, done);
    }
    if (state.span) endRequestSpan(state.span, context, route);
  };
}

/** Says that the answer is the last of its connection, or ends that behind an answer which began by saying otherwise. */
function endConnection({ req: { socket }, res: response }: RequestContext): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
  else if (!response.writableFinished) response.once('finish', () => socket.destroySoon());
}

/** Routes of the vendors' that clients know, and what there is in their place. */
const INSTEAD: Readonly<Record<string, string>> = {
  '/v1/images/edits': 'Input images go with POST /v1/images/generations, as image_url.',
  '/v1/images/variations': 'Input images go with POST /v1/images/generations, as image_url.',
  '/v1/completions': 'There is POST /v1/chat/completions.',
  '/v1/v1/messages': 'There is POST /v1/messages: for its clients, a base URL has no /v1.',
};

interface UnroutedContext extends RequestContext {
  router?: Router<RequestState>;
  matched?: readonly { methods: readonly string[] }[];
}

/** Below these, errors have a shape of their own, also where no route is. */
const MESSAGES = /^(?:\/v1)?\/v1\/messages(?:\/|$)/;
const LINK_DATA = /^\/v1\/(?:capabilities$|extract(?:\/|$))/;

function refuseUnrouted(context: UnroutedContext): never {
  const { method, path, router, state, matched = [] } = context;
  if (MESSAGES.test(path)) state.anthropic = true;
  if (LINK_DATA.test(path)) state.link = {};
  if (matched.length === 0) {
    // A base URL without its /v1 is the commonest mistake of all.
    const isThere = router?.match(`/v1${path}`, method).route;
    const hint = isThere ? `There is ${method} /v1${path}: a base URL ends in /v1.` : INSTEAD[path];
    throw new GatewayError('route_not_found', `There is no ${method} ${path}.${hint ? ` ${hint}` : ''}`);
  }
  const allowed = [...new Set(matched.flatMap(({ methods }) => methods))].sort().join(', ');
  context.res.setHeader('Allow', allowed);
  throw new GatewayError('method_not_allowed', `${path} accepts ${allowed}.`);
}
