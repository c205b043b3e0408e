/** An app on a free port, with everything that its tests may replace. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type Clock,
  createGateway,
  type Extractor,
  type Gateway,
  type GatewayOptions,
  type HttpClient,
  type JobsOptions,
  openHttpClient,
  systemClock,
  type Tracer,
} from 'mediagate';
import { createHttpServer, type HttpServer, type HttpServerOptions } from 'mediagate/server';
import { createRecordingLogger, type LogLine } from 'mediagate/testing';
import type { AccountDependencies } from '../../../server/app.js';
import { createAccountContext, createApp, createRoutes, createServerContext } from '../../../server/app.js';
import { Batches, startBatches } from '../../../server/batches/index.js';
import type { Route } from '../../../server/http/index.js';
import { IdempotencyService } from '../../../server/idempotency/index.js';
import { createKeyRecord, createPepper, KeyTable, type NewKey, type Pepper } from '../../../server/keys/index.js';
import type { ApiKeyRecord } from '../../../server/keys/key-rows.js';
import type { MediaProxy } from '../../../server/links/index.js';
import { AppliedModels, createSealer } from '../../../server/model-changes/index.js';
import { createMetrics, Health } from '../../../server/observability/index.js';
import { DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import type { LivePrices, Prices } from '../../../server/prices/index.js';
import type { Brand } from '../../../server/site/index.js';
import { openState, type State } from '../../../server/state.js';
import { startTranscripts, type TranscriptOptions } from '../../../server/transcripts/index.js';
import { Latencies, UsageService } from '../../../server/usage/index.js';
import {
  startWebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
  WebhookSecrets,
  WebhookTargets,
} from '../../../server/webhooks/index.js';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { untilConnected } from '../../support/databases/connected-cache.js';
import { placeMigratedFile } from '../../support/databases/migrated-file.js';
import type { Stack } from '../../support/databases/stacks.js';
import { invented } from '../../support/links/invented-plugin.js';
import { inventedShop } from '../../support/links/invented-shop.js';
import { until } from '../../support/until.js';

/** A key may poll twenty times a second. */
const POLL_MS = 100;

export const LINK = 'https://invented.example/item/7';

export interface ListeningAppOptions {
  extractor?: Partial<Extractor>;
  /** Default: there is no shop. */
  shop?: Partial<Extractor>;
  server?: Omit<HttpServerOptions, 'handler'>;
  siteUrl?: string;
  /** Default true. */
  anyImageSize?: boolean;
  imageDailyLimit?: number;
  accountImageDailyLimit?: number;
  /** Default: none. */
  trustedProxies?: readonly string[];
  /** Default: none. */
  corsOrigins?: readonly string[];
  /** Counts, and serves what it counts at `/metrics`. Default false. */
  publicMetrics?: boolean;
  /** Default: there are no traces. */
  tracer?: Tracer;
  /** Default 25 MiB. */
  audioMaxBytes?: number;
  /** Default 32 MiB. */
  textMaxBytes?: number;
  /** Whether the aliases of connected models are listed. Default true. */
  modelAliases?: boolean;
  /** Whether the routes of Anthropic's format do anything. Default false. */
  messages?: boolean;
  /** Which requests get media links. Default `off`. */
  mediaProxy?: MediaProxy;
  /** What pages show of the operator. Default: mediagate. */
  brand?: Brand;
  transcripts?: TranscriptOptions;
  clock?: Clock;
  /** Default: none. */
  prices?: Prices;
  /** Prices that operators can change. Default: there are none. */
  livePrices?: LivePrices;
  /** Between looks at responses in the background. Default: 5,000. */
  backgroundMs?: number;
  jobs?: Omit<JobsOptions, 'store'>;
  /** Open batches. Default 100. */
  maxBatches?: number;
  /** Whether webhooks are sent, and how: to the origin alone that is named. Default: they are not. */
  webhooks?: { origin: string } & Pick<WebhookDeliveryOptions, 'pausesMs' | 'tryMs' | 'leaseMs'>;
  /** Default: SQLite and a folder. */
  stack?: Stack;
  /** Default: the invented platform makes no request. */
  gateway?: Partial<GatewayOptions>;
  /** Default: there are no accounts. */
  account?(parts: { gateway: Gateway; state: State; pepper: Pepper; url(): string }): AccountDependencies;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on what they find
  json: any;
}

/** The real app over a real gateway and a real state, listening on a free port. */
export interface ListeningApp {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly state: State;
  readonly keys: KeyTable;
  readonly gateway: Gateway;
  readonly health: Health;
  readonly server: HttpServer;
  /** Every route it has: `POST /v1/extract`. */
  readonly routes: readonly string[];
  /** The same as they are declared. */
  declaredRoutes(): readonly Route[];
  /** Log lines so far: message and fields. */
  readonly log: readonly LogLine[];
  /** Stores a key; default: good for extraction, unlimited. */
  makeKey(wanted?: Partial<NewKey>, change?: Partial<ApiKeyRecord>): Promise<string>;
  request(target: string, init?: RequestInit): Promise<Answer>;
  extract(key: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Sends bytes as they are and gives back what comes until there are so many answers (1) or the connection ends. */
  batch(key: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  poll(key: string, id: string): Promise<Answer>;
  /** Polls until the job has ended. */
  ended(key: string, id: string): Promise<Answer>;
  raw(bytes: string | Uint8Array, answers?: number): Promise<string>;
  close(): Promise<void>;
}

const noHttp: HttpClient = {
  request: () => Promise.reject(new Error('the invented platform makes no request')),
  stream: () => Promise.reject(new Error('the invented platform makes no request')),
};

export async function startApp(options: ListeningAppOptions = {}): Promise<ListeningApp> {
  const { clock = systemClock } = options;
  const place = await options.stack?.place();
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-server-'));
  if (place?.settings.databaseUrl === undefined) await placeMigratedFile(dataDir);
  const logger = createRecordingLogger();
  const { publicMetrics = false, tracer, livePrices } = options;
  const prices = options.prices ?? livePrices;
  const metrics = publicMetrics ? await createMetrics({ clock }) : undefined;
  const meter = metrics?.meter;
  const watching = { meter, tracer, prices };
  const state = await openState({
    dataDir,
    ...place?.settings,
    clock,
    rateLimitClock: options.clock,
    // A busy machine is waited for; that callers are told in time is tested on the state itself.
    databaseTimeoutMs: 30_000,
    logger,
    ...watching,
  });
  if (place?.settings.cacheUrl !== undefined) await untilConnected(state.cache);
  const pepper = createPepper(randomBytes(32));
  const keys = await KeyTable.open({ keys: state.keys, peppers: [pepper], clock, logger });
  const gateway = await createGateway({
    plugins: [
      { use: invented(options.extractor) },
      ...(options.shop ? [{ use: inventedShop(options.shop), timeoutMs: 5_000 }] : []),
    ],
    jobs: { store: state.jobs, ...options.jobs },
    audioLinks: { baseUrl: 'http://gateway.example', secrets: [randomBytes(32)] },
    ffmpegPath,
    scratchFolder: path.join(dataDir, 'scratch'),
    text: {
      responses: state.storedResponses,
      background: state.backgroundResponses,
      backgroundMs: options.backgroundMs,
    },
    ...options.gateway,
    services: {
      http: noHttp,
      cache: state.cache,
      logger,
      clock,
      meter,
      storage: state.files,
      ...options.gateway?.services,
    },
  });
  const { jobs, batchLinks } = state;
  const { maxBatches: maxActive = 100 } = options;
  const batches = new Batches({ jobs, links: batchLinks, gateway, maxActive });
  const batching = { jobs, links: batchLinks, keys: state.keys, gateway, linksAtOnce: 16, logger };
  const { audioMaxBytes = 26_214_400 } = options;
  const hearing = { jobs, gateway, concurrency: 4, audioMaxBytes, logger };
  const linkWorkers = options.jobs?.workers === 0 ? [] : [startBatches(batching), startTranscripts(hearing)];
  const health = new Health({ gateway, wants: [], clock, checks: { database: () => state.ping() } });
  const { siteUrl } = options;
  let url = '';
  const links = {
    baseUrl: () => url,
    anyImageSize: options.anyImageSize ?? true,
    imageDailyLimit: options.imageDailyLimit,
    accountImageDailyLimit: options.accountImageDailyLimit,
    trustedProxies: options.trustedProxies,
    corsOrigins: options.corsOrigins,
    messagesEnabled: options.messages,
    mediaProxy: options.mediaProxy,
    brand: options.brand,
    transcripts: options.transcripts,
    jobs: state.jobs,
    ...(options.modelAliases !== undefined && { modelAliases: options.modelAliases }),
    textMaxBytes: options.textMaxBytes,
    ...(options.audioMaxBytes !== undefined && { audioMaxBytes: options.audioMaxBytes }),
  };
  metrics?.watch({ jobs: state.jobs, gateway, checks: () => health.checks(), keysAgeMs: () => keys.ageMs(), dataDir });
  const { rateLimits, budgets, admissions, usage: usageLog, requestLog } = state;
  const latencies = new Latencies({ clock, stored: state.modelLatencies });
  const usage = new UsageService({
    latencies,
    admissions,
    noteSettled: metrics && ((one) => metrics.requests.settled(one)),
    clock,
    prices,
    resolveModel: (name) => gateway.resolveModel(name),
    noteAnswered: (id) => gateway.noteAnswered(id),
    inputs: requestLog.inputs,
  });
  await requestLog.inputs.watch();
  const account = options.account?.({ gateway, state, pepper, url: () => url });
  const { catalogue = DEFAULT_CATALOGUE } = account ?? {};
  const sealer = createSealer([Buffer.alloc(32, 'sealer')]);
  const changedModels = await AppliedModels.open({
    changes: state.changedModels,
    gateway,
    prices: livePrices,
    sealer,
    logger,
  });
  const terms = { catalogue, freeTierPeriod: 'lifetime' } as const;
  const admin = { state, ...terms, pepper, latencies, changedModels, livePrices, settings: () => [] };
  const answers = new IdempotencyService({
    answers: state.idempotentResponses,
    files: state.files,
    clock,
    logger,
    drain: health.drain,
  });
  const webhooks = options.webhooks && (await openWebhooks(options.webhooks));
  const responses = state.storedResponses;
  const counting = {
    rateLimits,
    usage,
    answers,
    budgets,
    usageLog,
    requestLog,
    responses,
    metrics,
    publicMetrics,
    webhooks,
  };
  const dependencies = {
    gateway,
    batches,
    prices,
    ...counting,
    keys,
    health,
    logger,
    clock,
    siteUrl,
    account,
    admin,
    tracer,
    ...links,
  };
  const app = createApp(dependencies);
  const server = createHttpServer({ handler: app.callback(), ...options.server });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  async function openWebhooks({ origin, ...times }: NonNullable<ListeningAppOptions['webhooks']>) {
    const trustedOrigins = [origin];
    const http = await openHttpClient({ timeoutMs: 15_000, trustedOrigins });
    const secrets = new WebhookSecrets([randomBytes(32)], state.webhooks);
    const { images, extractionJob } = gateway;
    const sources = { images, extractionJob, batches };
    const parts = { webhooks: state.webhooks, ...sources, secrets, client: http.client, clock, logger };
    const tried = metrics && ((outcome: WebhookOutcome) => metrics.webhooks.tried(outcome));
    const start = () =>
      startWebhookDelivery({ ...parts, baseUrl: () => url, ...times, ...(tried && { tried }), pollMs: 20 });
    // As two nodes would.
    const deliveries = [start(), start()];
    const close = async () => {
      await Promise.all(deliveries.map((one) => one.close()));
      await http.close();
    };
    return { targets: new WebhookTargets(trustedOrigins), secrets, close };
  }

  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  url = `http://127.0.0.1:${port}`;

  async function request(target: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(url + target, { signal: AbortSignal.timeout(60_000), ...init });
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    const json = isJson && text !== '' ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, text, json };
  }

  const poll = (key: string, id: string) =>
    request(`/v1/extract/jobs/${id}`, { headers: { authorization: `Bearer ${key}` } });

  return {
    url,
    port,
    dataDir,
    state,
    keys,
    gateway,
    health,
    server,
    routes: app.middleware.flatMap(routesOf),
    declaredRoutes() {
      const context = createServerContext(dependencies);
      return createRoutes(context, createAccountContext(context));
    },
    log: logger.lines,
    async makeKey(wanted = {}, change = {}) {
      const given = { name: 'test', grants: ['extract'], rpm: null, expiresAt: null, ...wanted } satisfies NewKey;
      const { key, record } = createKeyRecord(given, pepper, Date.now());
      await state.keys.insert({ ...record, ...change });
      return key;
    },
    request,
    extract: (key, body, headers = {}) =>
      request('/v1/extract', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    batch: (key, body, headers = {}) =>
      request('/v1/extract/batch', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    poll,
    ended: (key, id) =>
      until(async () => {
        const answer = await poll(key, id);
        return answer.headers.get('retry-after') === null && answer;
      }, POLL_MS),
    raw: (bytes, answers = 1) => exchange(port, bytes, answers),
    async close() {
      server.close();
      server.closeAllConnections();
      await answers.close();
      health.close();
      await usage.close();
      await changedModels.close();
      await keys.close();
      await webhooks?.close();
      await Promise.all(linkWorkers.map((workers) => workers.stop()));
      await gateway.close();
      await state.close();
      await place?.remove();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Of a router's middleware; none of any other. */
function routesOf(
  middleware: object & { router?: { stack: readonly { methods: string[]; path: unknown }[] } },
): string[] {
  const { stack = [] } = middleware.router ?? {};
  return stack.flatMap(({ methods, path: address }) => methods.map((method) => `${method} ${address}`));
}

const TIMEOUT_MS = 20_000;

function exchange(port: number, bytes: string | Uint8Array, answers: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const finish = () => {
      clearTimeout(patience);
      socket.destroy();
      resolve(received);
    };
    const patience = setTimeout(finish, TIMEOUT_MS);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (countAnswers(received) >= answers) finish();
    });
    // A reset after the answer is the server's way to stop reading; what came before it counts.
    socket.on('error', finish).on('close', finish);
    socket.write(bytes);
  });
}

/** Whole answers in the text; every answer of ours has a Content-Length. "100 Continue" is none. */
function countAnswers(text: string): number {
  let count = 0;
  for (let rest = text; rest.includes('\r\n\r\n'); ) {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(rest.slice(0, end))?.[1];
    if (length !== undefined) {
      if (rest.length < end + Number(length)) return count;
      count += 1;
    }
    rest = rest.slice(end + Number(length ?? 0));
  }
  return count;
}
