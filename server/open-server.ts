/*
 * Opens everything that `mediagate serve` needs except its listeners; programs that embed the gateway call it too. Its
 * parts open one after the other, and close in the reverse order, also if a later one fails. The process registers a
 * fingerprint of its settings, and its health reports settings that differ from those of other processes. It refuses
 * prices in another currency than that of the usage log.
 */

import type { RequestListener } from 'node:http';
import type { Gateway, GatewayServices } from 'mediagate';
import type { Need, PluginEntry, Tracer } from '../core/contracts/index.js';
import { createLogger } from '../core/observability/index.js';
import { type Logger, noSiblings, type Siblings, systemClock } from '../core/runtime/index.js';
import { mendSecrets } from '../core/storage/index.js';
import { Identity, type SignInStatus } from './accounts/index.js';
import { openAlerts } from './alerts/index.js';
import type { AppDependencies } from './app.js';
import { Batches, startBatches } from './batches/index.js';
import { type CloseList, openOrClose } from './close-list.js';
import { createSiteAddress, localAddress } from './http/index.js';
import { IdempotencyService } from './idempotency/index.js';
import { createKeyRecord, GRANTS, KeyTable, type Pepper } from './keys/index.js';
import { BlockList } from './links/blocked-links.js';
import { AppliedModels, createSealer } from './model-changes/index.js';
import { type Health, type Metrics, openTracing } from './observability/index.js';
import { openGateway, readPricesOf } from './open-gateway.js';
import { passkeyNotices } from './passkeys/index.js';
import { PaymentService, startPaymentSweep } from './payments/index.js';
import { startErasureSweep } from './personal-data/index.js';
import { type Catalogue, readCatalogue } from './plans/index.js';
import { describeUnpriced, type LivePrices, type Prices, PricesError } from './prices/index.js';
import { checksOf } from './process-checks.js';
import { type Role, settingsOfRole } from './roles.js';
import { limitsOf } from './route-limits.js';
import {
  findIdentitySecrets,
  fingerprintsOf,
  loadPeppers,
  reportSettings,
  type Settings,
  secretsOf,
} from './settings/index.js';
import { type Brand, loadBrand } from './site/index.js';
import { openStateOf, type State } from './state.js';
import { openServiceStatus } from './status/index.js';
import { startTranscripts } from './transcripts/index.js';
import { Latencies, UsageService } from './usage/index.js';
import { openBudgetAlerts, openWebhooks, type WebhookOutcome } from './webhooks/index.js';
import type { WorkerPlace, WorkerSiblings } from './workers/index.js';

const FIRST_KEY_RPM = 30;

export interface OpenServerOptions {
  /**
   * As {@link readSettings} returns them. The caller must apply the settings of the listener (`host`, `port`, its
   * limits).
   */
  settings: Settings;
  /** Source of the plugins file's variables, and of `PATH`. */
  environment: NodeJS.ProcessEnv;
  /** Makes a key if there is none. Default false. */
  firstRun?: boolean;
  /** Default `all`. */
  role?: Role;
  /** Its address if the settings name no `baseUrl`, without a trailing slash; empty before it listens. Called whenever a link is made. */
  address: () => string;
  /** Open client connections, for the metrics. Default: omitted. */
  connections?(): Promise<number>;
  /** Entries of the gateway. Default: those of the plugins file. */
  plugins?: readonly PluginEntry[];
  /** Links that the playground offers as recorded samples. Default: it offers those of the live probes. */
  recordedLinks?: readonly string[];
  /** Replacements for its HTTP client and logger. */
  services?: Pick<GatewayServices, 'http' | 'logger'>;
  /** Its place among several workers of this machine, and the way to the others. Default: it serves alone. */
  place?: WorkerPlace;
  siblings?: WorkerSiblings;
}

/** Everything that `mediagate serve` opens except its listeners. */
export interface OpenServer extends AsyncDisposable {
  /** The parts that the role of this process has. */
  readonly settings: Settings;
  readonly logger: Logger;
  readonly state: State;
  readonly gateway: Gateway;
  readonly health: Health;
  /** Answers every request, including those without a route; for a Node server. */
  readonly handler: RequestListener;
  /** Answers with Prometheus metrics only. Undefined if they are not configured. */
  readonly metricsHandler?: RequestListener;
  /** A key that was made at this start. */
  readonly newKey?: string;
  /** Undefined without accounts. */
  signIn?(): SignInStatus;
  /** For the terminal alone: it may contain an invitation for the first operator; see {@link passkeyNotices}. */
  signInNotices(): Promise<string[]>;
  /** Stops claiming background jobs; see {@link Gateway.stopJobs}. Idempotent. */
  stopJobs(): Promise<void>;
  /** Stops jobs in order and closes everything, last opened first; call it after closing the listeners. */
  close(): Promise<void>;
}

/**
 * Opens state, plugins and every route by the settings, without listening. If it fails, what was opened before is
 * closed.
 * @throws SettingsError, PluginConfigError, PlansFileError, PricesError, and what {@link openState} and {@link createGateway} throw.
 */
export function openServer(options: OpenServerOptions): Promise<OpenServer> {
  return openOrClose((opened) => open(options, opened));
}

async function open(options: OpenServerOptions, opened: CloseList): Promise<OpenServer> {
  const { firstRun = false, role = 'all', connections, siblings = noSiblings } = options;
  const settings = settingsOfRole(options.settings, role);
  const logger = options.services?.logger ?? openLogger(settings, opened);
  // Koa takes longest to load, so it loads while the database opens.
  const modules = Promise.all([import('./app.js'), import('./observability/health.js')]);
  const tracing = await openTracing(settings, logger);
  opened.add(() => tracing?.close());
  const isWorker = role === 'worker';
  const { metricsPort, metricsPublic, dataDir } = settings;
  const metrics = isWorker || metricsPublic || metricsPort !== undefined ? await openMetrics(siblings) : undefined;
  const parts = await openParts(options, {
    settings,
    environment: options.environment,
    logger,
    tracer: tracing?.tracer,
    metrics,
    opened,
  });
  const { state, gateway, identity } = parts;

  const [{ createApp, createWorkerApp, createMetricsApp }, { Health }] = await modules;
  const signIn = identity && (() => identity.status());
  const wants: Need[] = settings.browser ? ['browser', 'ffmpeg'] : ['ffmpeg'];
  const { probes } = state;
  const reports = { ...checksOf(parts, options.siblings), signIn, probes: () => probes.latest() };
  const health = new Health({ gateway, wants, clock: systemClock, ...reports });
  opened.add(() => health.close());
  if (parts.isBackground) await openAlerts({ ...parts, clock: systemClock });
  const product = isWorker ? undefined : await openProduct(parts, health, firstRun);
  const metricsSources = { health, logger, clock: systemClock };
  const app = product ? createApp(product.dependencies) : createWorkerApp({ metrics, ...metricsSources });
  metrics?.watch({
    jobs: state.jobs,
    gateway,
    dataDir,
    checks: () => health.checks(),
    probes,
    ...(connections && { connections }),
    ...(product && { keysAgeMs: () => product.dependencies.keys.ageMs() }),
    filesAwaiting: () => state.filesAwaiting(),
    alerts: state.alerts,
    ...(tracing && { spans: () => tracing.spans() }),
  });
  const close = () => opened.close();
  return {
    settings,
    logger,
    state,
    gateway,
    health,
    handler: app.callback(),
    ...(metrics && { metricsHandler: createMetricsApp({ metrics, ...metricsSources }).callback() }),
    ...(product?.newKey !== undefined && { newKey: product.newKey }),
    ...(signIn && { signIn }),
    signInNotices: () => passkeyNotices({ ...state, status: signIn?.(), siteUrl: parts.site().url }),
    async stopJobs() {
      await Promise.all([gateway.stopJobs(), parts.stopLinkJobs()]);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface FirstParts {
  settings: Settings;
  /** What the settings were read from. */
  environment: NodeJS.ProcessEnv;
  logger: Logger;
  tracer?: Tracer;
  metrics?: Metrics;
  opened: CloseList;
}

/** What is opened before the app is created. */
interface OpenParts extends FirstParts {
  state: State;
  gateway: Gateway;
  batches: Batches;
  /** Queues running batches and transcripts again. Idempotent. */
  stopLinkJobs(): Promise<void>;
  catalogue: Catalogue;
  prices?: LivePrices;
  changedModels: AppliedModels;
  /** Undefined without accounts. */
  identity?: Identity;
  site: ReturnType<typeof createSiteAddress>;
  brand: Brand;
  recordedLinks: readonly string[] | undefined;
  siblings: Siblings;
  /** Workers of this machine. */
  workers: number;
  baseUrl(): string;
  /** Whether this process does what no request waits for: of several workers, one does. */
  isBackground: boolean;
}

/** Opens the state, the gateway and the sign-in. */
async function openParts(options: OpenServerOptions, first: FirstParts): Promise<OpenParts> {
  const { settings, environment, logger, tracer, metrics, opened } = first;
  const { plugins, place, siblings = noSiblings } = options;
  const isWorker = options.role === 'worker';
  const meter = metrics?.meter;
  const prices = await readPricesOf(settings, environment, plugins);
  const brand = await loadBrand(settings);
  const state = await openStateOf(settings, logger, { tracer, meter, prices, siblings });
  opened.add(() => state.close());
  await state.requestLog.inputs.watch();
  if (prices) await checkCurrency(state, prices);
  const mended = await mendSecrets(settings.dataDir);
  if (mended.length > 0) {
    logger.warn(`other users could read ${mended.join(', ')} in DATA_DIR/secrets; only this user can now (0600)`);
  }
  const catalogue = await readCatalogue(settings.plansFile, settings.freeTierGrants);
  await state.instances.join(await fingerprintsOf(settings, { isWorker, plans: catalogue, prices }));

  const blocked = await BlockList.open(state.blockedLinks, logger);
  opened.add(() => blocked.close());
  const isBlocked = (url: string) => blocked.has(url);
  const { cache, files: storage } = state;
  const services = { http: options.services?.http, cache, storage, meter, siblings, isBlocked };
  const { baseUrl: configured } = settings;
  // What runs in the background makes links before the gateway listens: with the port of the settings.
  const baseUrl = () => configured ?? (options.address() || localAddress(settings));
  const { jobs } = state;
  const about = { settings, environment, logger, services, plugins };
  const gateway = await openGateway({ ...about, jobs, responses: state, baseUrl });
  opened.add(() => gateway.close());
  const sealer = createSealer(await findIdentitySecrets(settings));
  const followed = { changes: state.changedModels, gateway, prices, sealer, logger, siblings };
  const changedModels = await AppliedModels.open(followed);
  opened.add(() => changedModels.close());
  const { batches, stopLinkJobs } = openLinkJobs({ settings, state, gateway, logger });
  // Before the plugins, so that an interrupted link is no failure.
  opened.add(stopLinkJobs);
  if (prices && !isWorker) for (const line of describeUnpriced(prices, gateway)) logger.warn(line);
  const site = createSiteAddress(() => settings.siteUrl ?? baseUrl());
  const identity = settings.site && !isWorker ? new Identity({ gateway, settings, site }) : undefined;
  opened.add(() => identity?.close());
  const isBackground = place?.background ?? true;
  const workers = place?.count ?? 1;
  return {
    ...first,
    state,
    gateway,
    batches,
    stopLinkJobs,
    catalogue,
    prices,
    changedModels,
    identity,
    site,
    brand,
    recordedLinks: options.recordedLinks,
    siblings,
    workers,
    baseUrl,
    isBackground,
  };
}

/** Background batches of links; the workers of batches and of transcripts, if this process runs jobs of links. */
function openLinkJobs({
  settings,
  state,
  gateway,
  logger,
}: Pick<OpenParts, 'settings' | 'state' | 'gateway' | 'logger'>) {
  const { jobs, keys, batchLinks: links } = state;
  const { extractWorkers, extractBatchLinks: linksAtOnce, extractMaxBatches: maxActive } = settings;
  const { audioMaxBytes } = settings;
  const start = () => [
    startBatches({ jobs, links, keys, gateway, linksAtOnce, logger }),
    startTranscripts({ jobs, gateway, concurrency: extractWorkers, audioMaxBytes, logger }),
  ];
  const workers = extractWorkers > 0 ? start() : [];
  return {
    batches: new Batches({ jobs, links, gateway, maxActive }),
    async stopLinkJobs() {
      await Promise.all(workers.map((each) => each.stop()));
    },
  };
}

function openLogger(settings: Settings, opened: CloseList): Logger {
  const format = settings.logFormat ?? (process.stderr.isTTY ? 'text' : 'json');
  const logger = createLogger({ level: settings.logLevel, format, secrets: secretsOf(settings) });
  opened.add(() => logger.close());
  return logger;
}

/** What a node that serves clients has in addition. */
interface Product {
  dependencies: AppDependencies;
  /** A key that was made at this start. */
  newKey: string | undefined;
}

/** Opens keys, usage, payments and webhooks. @param firstRun Whether a key is made if there is none. */
async function openProduct(parts: OpenParts, health: Health, firstRun: boolean): Promise<Product> {
  const { settings, state, gateway, logger, tracer, metrics, prices, siblings, workers, baseUrl, opened } = parts;
  const clock = systemClock;
  const peppers = await loadPeppers(settings);
  const newKey = firstRun ? await makeFirstKey(state, peppers[0]) : undefined;
  const keys = await KeyTable.open({ keys: state.keys, peppers, clock, logger, siblings });
  opened.add(() => keys.close());
  const { rateLimits, budgets, admissions, usage: usageLog, requestLog, idempotentResponses, files } = state;
  const latencies = new Latencies({ clock, siblings, stored: state.modelLatencies });
  const counting = latencies.start(logger);
  opened.add(() => counting.stop());
  const usage = new UsageService({
    latencies,
    resolveModel: gateway.resolveModel,
    noteAnswered: gateway.noteAnswered,
    admissions,
    noteSettled: metrics && ((one) => metrics.requests.settled(one)),
    clock: keys.clock,
    prices,
    inputs: requestLog.inputs,
  });
  opened.add(() => usage.close());
  const account = openAccounts(parts, health, peppers[0]);
  const { catalogue } = parts;
  const reported = () => reportSettings(parts.environment);
  const admin = {
    state,
    catalogue,
    freeTierPeriod: settings.freeTierPeriod,
    pepper: peppers[0],
    settings: reported,
    latencies,
    changedModels: parts.changedModels,
    livePrices: prices,
  };
  const webhooks = await openProductWebhooks(parts);
  const graceMs = (settings.drainSeconds + settings.shutdownSeconds) * 1000;
  const answers = new IdempotencyService({
    answers: idempotentResponses,
    files,
    clock,
    logger,
    drain: health.drain,
    graceMs,
  });
  // Closed before the usage service, which records their remaining usage.
  opened.add(() => answers.close());
  const dependencies = {
    ...limitsOf(settings),
    gateway,
    batches: parts.batches,
    rateLimits,
    usage,
    answers,
    budgets,
    usageLog,
    requestLog,
    prices,
    responses: state.storedResponses,
    jobs: state.jobs,
    keys,
    health,
    logger,
    clock,
    brand: parts.brand,
    account,
    admin,
    webhooks,
    baseUrl,
    metrics,
    tracer,
    siblings,
    workers,
  };
  return { dependencies, newKey };
}

/** Undefined without accounts. Starts what expires orders and finishes erasures. */
function openAccounts(parts: OpenParts, health: Health, pepper: Pepper): AppDependencies['account'] {
  const { settings, state, gateway, logger, catalogue, prices, identity, site, recordedLinks, isBackground, opened } =
    parts;
  if (!identity) return undefined;
  const { orders, balances, ledger, erasures, files } = state;
  const { freeTierPeriod, paymentReceiver: receiver, paymentSecrets, prepaidBalance } = settings;
  const offered = { catalogue, freeTierPeriod, receiver, prices, prepaidBalance };
  const payments = new PaymentService({ orders, balances, ledger, ...offered });
  const status = openServiceStatus({ state, gateway, health, payments, identity, logger, clock: systemClock });
  opened.add(() => status.close());
  if (isBackground) {
    const sweep = startPaymentSweep(orders, logger);
    opened.add(() => sweep.stop());
    const erasing = startErasureSweep({ erasures, files, gateway, logger });
    opened.add(() => erasing.close());
  }
  const common = { state, identity, catalogue, freeTierPeriod, pepper, payments, paymentSecrets, status, site };
  return { ...common, ...(recordedLinks && { recordedLinks }) };
}

/** Webhooks of jobs, undefined if they are disabled, and of budgets. */
async function openProductWebhooks(parts: OpenParts): Promise<AppDependencies['webhooks']> {
  const { settings, state, gateway, batches, logger, metrics, baseUrl, isBackground: delivers, opened } = parts;
  const tried = metrics && ((outcome: WebhookOutcome) => metrics.webhooks.tried(outcome));
  const common = { settings, webhooks: state.webhooks, clock: systemClock, logger, opened };
  const webhooks = await openWebhooks({ ...common, gateway, batches, baseUrl, tried, delivers });
  if (webhooks) metrics?.watch({ webhooks: state.webhooks });
  if (delivers) await openBudgetAlerts({ ...common, alerts: state.budgetAlerts });
  return webhooks;
}

/** @throws PricesError if the usage log has costs in another currency: their sums would mix the two. */
async function checkCurrency({ usage }: State, { currency }: Prices): Promise<void> {
  if (await usage.setCurrency(currency)) return;
  throw new PricesError(
    `The prices are in ${currency}, but the usage log has costs in ${await usage.currency()}. Keep its currency in ` +
      'PRICES_FILE or PRICES_CURRENCY, or start with a new database.',
  );
}

async function makeFirstKey(state: State, pepper: Pepper): Promise<string | undefined> {
  if ((await state.keys.list()).length > 0) return undefined;
  const wanted = { name: 'local', grants: GRANTS, rpm: FIRST_KEY_RPM, expiresAt: null };
  const { key, record } = createKeyRecord(wanted, pepper, systemClock.now());
  await state.keys.insert(record, null, 'gateway');
  return key;
}

async function openMetrics(siblings: Siblings): Promise<Metrics> {
  const { createMetrics } = await import('./observability/metrics.js');
  return createMetrics({ clock: systemClock, siblings });
}
