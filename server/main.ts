import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { createLogger, type Gateway, type Logger, type Need, type State, systemClock } from 'mediagate';
import { type Banner, renderBanner } from './banner.js';
import { type CloseList, createCloseList } from './close-list.js';
import { checkRoom } from './data-folder.js';
import { drain } from './drain.js';
import { openKeyTable } from './key-table.js';
import { createKeyRecord, GRANTS, type Pepper } from './keys.js';
import type { Metrics } from './metrics.js';
import { openGateway } from './open-gateway.js';
import { openStateOf } from './open-state.js';
import { loadPeppers, secretsOf } from './secrets.js';
import type { Settings } from './settings.js';
import { createUsageDesk } from './usage.js';

const FIRST_KEY_RPM = 30;
const METRICS_CONNECTIONS = 100;
/** Two signals this close together are one: a terminal and a parent process may both pass Ctrl-C on. */
const SAME_SIGNAL_MS = 500;

export interface ServeOptions {
  settings: Settings;
  environment: NodeJS.ProcessEnv;
  /** Makes a key where there is none, and prints everything a newcomer needs. Default false: prints the address alone. */
  firstRun?: boolean;
  print(text: string): void;
}

/** A gateway that is serving. */
export interface Serving {
  readonly logger: Logger;
  /** What to say of it. */
  readonly banner: Banner;
  /** Finishes what is in flight and closes everything. True where nothing had to be cut off. */
  stop(): Promise<boolean>;
}

/** Opens state and plugins, then listens. Whatever fails on the way, what was opened before is closed. */
async function startServing(options: ServeOptions): Promise<Serving> {
  const opened = createCloseList();
  try {
    return await open(options, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function open(options: ServeOptions, opened: CloseList): Promise<Serving> {
  const { settings, environment, firstRun = false } = options;
  const logger = createLogger({ level: settings.logLevel, secrets: secretsOf(settings) });
  opened.add(() => logger.close());
  // Koa takes longest to load, so it loads while the database opens.
  const modules = Promise.all([import('./app.js'), import('./health.js'), import('./http-server.js')]);
  const [state, peppers] = await Promise.all([openStateOf(settings, logger), loadPeppers(settings)]);
  opened.add(() => state.close());

  let address = '';
  const services = { cache: state.cache, storage: state.files };
  const baseUrl = () => settings.baseUrl ?? address;
  const { jobs, storedResponses: responses } = state;
  const gateway = await openGateway({ settings, environment, logger, services, jobs, responses, baseUrl });
  opened.add(() => gateway.close());
  const newKey = firstRun ? await makeFirstKey(state, peppers[0]) : undefined;
  const keys = await openKeyTable({ keys: state.keys, peppers, clock: systemClock, logger });
  opened.add(() => keys.close());

  const [{ createApp, createMetricsApp }, { createHealth }, { createHttpServer }] = await modules;
  // Where the database is elsewhere, a full folder costs MP3s and nothing else.
  const { dataDir, databaseUrl } = settings;
  const isDatabaseHere = databaseUrl === undefined;
  const checks = {
    database: () => state.ping(),
    data_folder: () => (isDatabaseHere ? checkRoom(dataDir) : stat(dataDir)),
  };
  const softChecks = { files: () => state.pingFiles() };
  const wants: Need[] = settings.browser ? ['browser', 'ffmpeg'] : ['ffmpeg'];
  const health = createHealth({ gateway, wants, clock: systemClock, checks, softChecks });
  opened.add(() => health.close());
  const { windows, budgets, admissions, usage: ledger } = state;
  const clock = systemClock;
  const { metricsHost, metricsPort, metricsPublic: publicMetrics } = settings;
  const metrics = metricsPort !== undefined || publicMetrics ? await openMetrics(state, gateway) : undefined;
  const usage = createUsageDesk({ admissions: metrics?.watchAdmissions(admissions) ?? admissions, clock });
  opened.add(() => usage.close());
  const { anyImageSize, imageDailyLimit, audioMaxBytes, siteUrl } = settings;
  const counting = { windows, usage, budgets, ledger };
  const limits = { anyImageSize, imageDailyLimit, audioMaxBytes };
  const links = { baseUrl, siteUrl, metrics, publicMetrics };
  const app = createApp({ gateway, ...counting, keys, health, logger, clock, ...links, ...limits });
  const server = createHttpServer({ handler: app.callback(), maxConnections: settings.maxConnections });
  let metricsAddress: string | undefined;
  if (metrics && metricsPort !== undefined) {
    const metricsApp = createMetricsApp({ metrics, health, logger, clock });
    const metricsServer = createHttpServer({ handler: metricsApp.callback(), maxConnections: METRICS_CONNECTIONS });
    opened.add(() => closeAtOnce(metricsServer));
    metricsAddress = await listen(metricsServer, { host: metricsHost, port: metricsPort });
  }
  address = await listen(server, settings);
  return {
    logger,
    banner: { address, metricsAddress, settings, engine: state.engine, plugins: gateway.plugins(), newKey },
    async stop() {
      health.startDraining();
      const drained = await drain(server, settings.shutdownSeconds * 1000, () => gateway.text.cutOff());
      await opened.close();
      return drained;
    },
  };
}

async function openMetrics({ jobs }: State, gateway: Gateway): Promise<Metrics> {
  const { createMetrics } = await import('./metrics.js');
  return createMetrics({ jobs, models: gateway.models().map(({ id }) => id), clock: systemClock });
}

function closeAtOnce(server: Server): void {
  server.close();
  server.closeAllConnections();
}

async function listen(server: Server, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address();
  const actual = typeof bound === 'object' && bound ? bound.port : port;
  // Nobody can connect to "all addresses"; this machine's own is one that works.
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${isIPv6(shown) ? `[${shown}]` : shown}:${actual}`;
}

async function makeFirstKey(state: State, pepper: Pepper): Promise<string | undefined> {
  if ((await state.keys.list()).length > 0) return undefined;
  const wanted = { name: 'local', grants: GRANTS, rpm: FIRST_KEY_RPM, expiresAt: null };
  const { key, record } = createKeyRecord(wanted, pepper, systemClock.now());
  await state.keys.insert(record);
  return key;
}

function announce({ firstRun, print }: ServeOptions, banner: Banner): void {
  const { address, metricsAddress } = banner;
  const metrics = metricsAddress ? `Metrics are at ${metricsAddress}/metrics\n` : '';
  print(firstRun ? renderBanner(banner) : `mediagate listens on ${address}\n${metrics}`);
}

/** Serves until a signal says stop. Resolves with the exit code. */
export async function serve(options: ServeOptions): Promise<number> {
  const serving = await startServing(options);
  const ended = untilItEnds(serving);
  // Last of all: whoever reads it may ask for the end at once, and that must be an orderly one.
  announce(options, serving.banner);
  const exitCode = await ended;
  if (exitCode === 0) options.print('\nFinishing what is in flight; another Ctrl-C ends it at once.\n');
  await serving.stop();
  return exitCode;
}

/** 0 for a signal; 1 where something was thrown outside of any request, after which nothing can be relied on. */
function untilItEnds({ logger }: Serving): Promise<number> {
  return new Promise((resolve) => {
    let stoppedAt: number | undefined;
    const stop = () => {
      const now = systemClock.monotonic();
      if (stoppedAt === undefined) {
        stoppedAt = now;
        resolve(0);
      } else if (now - stoppedAt > SAME_SIGNAL_MS) process.exit(1);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    // A plugin's forgotten promise is that plugin's failure; the others go on.
    process.on('unhandledRejection', (error) => logger.error('a promise failed and nobody waited for it', { error }));
    process.on('uncaughtException', (error) => {
      logger.error('something was thrown outside of any request; the process ends', { error });
      resolve(1);
    });
  });
}
