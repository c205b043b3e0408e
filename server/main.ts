import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { promisify } from 'node:util';
import { createLogger, type Logger, type Need, systemClock } from 'mediagate';
import { type Banner, renderBanner } from './banner.js';
import { type CloseList, createCloseList } from './close-list.js';
import { checkRoom } from './data-folder.js';
import { drain } from './drain.js';
import { samplesOf } from './first-requests.js';
import { openFront } from './front.js';
import { describeLinks, describeListening, localAddress } from './listening-address.js';
import type { Metrics } from './metrics.js';
import { openGateway } from './open-gateway.js';
import { openStateOf } from './open-state.js';
import { keptInFolder, type Role, settingsOfRole } from './roles.js';
import { secretsOf } from './secrets.js';
import type { Settings } from './settings.js';
import { startNotices } from './start-notices.js';
import { openTracing } from './tracing/tracing.js';

const METRICS_CONNECTIONS = 100;
/** Two signals this close together are one: a terminal and a parent process may both pass Ctrl-C on. */
const SAME_SIGNAL_MS = 500;

export interface ServeOptions {
  settings: Settings;
  environment: NodeJS.ProcessEnv;
  /** Makes a key where there is none, and prints everything a newcomer needs. Default false: prints the address alone. */
  firstRun?: boolean;
  /** Default `all`. */
  role?: Role;
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
  const { environment, firstRun = false, role = 'all' } = options;
  const settings = settingsOfRole(options.settings, role);
  const logger = createLogger({ level: settings.logLevel, secrets: secretsOf(settings) });
  opened.add(() => logger.close());
  // Koa takes longest to load, so it loads while the database opens.
  const modules = Promise.all([import('./app.js'), import('./health.js'), import('./http-server.js')]);
  const tracing = await openTracing(settings, logger);
  opened.add(() => tracing?.close());
  const isWorker = role === 'worker';
  const { metricsHost, metricsPort, metricsPublic } = settings;
  const metrics = isWorker || metricsPublic || metricsPort !== undefined ? await openMetrics() : undefined;
  const watching = { tracer: tracing?.tracer, meter: metrics?.meter };
  const state = await openStateOf(settings, logger, watching);
  opened.add(() => state.close());

  let address = '';
  const services = { cache: state.cache, storage: state.files, meter: watching.meter };
  const baseUrl = () => settings.baseUrl ?? address;
  const { jobs, storedResponses: responses } = state;
  const gateway = await openGateway({ settings, environment, logger, services, jobs, responses, baseUrl });
  opened.add(() => gateway.close());
  const front = isWorker
    ? undefined
    : await openFront({
        settings,
        state,
        gateway,
        logger,
        tracer: watching.tracer,
        metrics,
        firstRun,
        baseUrl,
        opened,
      });

  const [{ createWorkerApp, createMetricsApp }, { createHealth }, { createHttpServer }] = await modules;
  // Where the database is elsewhere, a full folder costs MP3s and nothing else.
  const { dataDir, databaseUrl } = settings;
  const isDatabaseHere = databaseUrl === undefined;
  const checks = {
    database: () => state.ping(),
    data_folder: () => (isDatabaseHere ? checkRoom(dataDir) : stat(dataDir)),
  };
  const softChecks = { files: () => state.pingFiles(), cache: () => state.pingCache() };
  const wants: Need[] = settings.browser ? ['browser', 'ffmpeg'] : ['ffmpeg'];
  const signIn = front?.signIn;
  const health = createHealth({ gateway, wants, clock: systemClock, checks, softChecks, signIn });
  opened.add(() => health.close());
  const figures = { health, logger, clock: systemClock };
  const app = front ? await front.createApp(health) : createWorkerApp({ metrics, ...figures });
  const server = createHttpServer({ handler: app.callback(), maxConnections: settings.maxConnections });
  metrics?.watch({
    jobs,
    gateway,
    dataDir,
    checks: () => health.checks(),
    connections: () => promisify(server.getConnections.bind(server))(),
    ...(front && { keysAgeMs: () => front.keysAgeMs() }),
    filesAwaiting: () => state.filesAwaiting(),
    ...(tracing && { spans: () => tracing.spans() }),
  });
  let metricsAddress: string | undefined;
  if (metrics && metricsPort !== undefined) {
    const metricsApp = createMetricsApp({ metrics, ...figures });
    const metricsServer = createHttpServer({ handler: metricsApp.callback(), maxConnections: METRICS_CONNECTIONS });
    opened.add(() => closeAtOnce(metricsServer));
    metricsAddress = await listen(metricsServer, { host: metricsHost, port: metricsPort });
  }
  address = await listen(server, settings);
  const kept = keptInFolder(settings);
  if (role !== 'all' && kept.length > 0)
    logger.warn(`all nodes have to share this DATA_DIR, which keeps what is the same for all: ${kept.join(', ')}`);
  return {
    logger,
    banner: {
      address,
      metricsAddress,
      settings,
      engine: state.engine,
      plugins: gateway.plugins(),
      samples: samplesOf(gateway),
      notices: startNotices({ environment, gateway }),
      signIn: signIn?.(),
      newKey: front?.newKey,
    },
    async stop() {
      health.startDraining();
      const [drained] = await Promise.all([
        drain(server, {
          acceptMs: settings.drainSeconds * 1000,
          timeoutMs: settings.shutdownSeconds * 1000,
          cutOff: () => gateway.text.cutOff(),
        }),
        gateway.stopJobs(),
      ]);
      await opened.close();
      return drained;
    },
  };
}

async function openMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('./metrics.js');
  return createMetrics({ clock: systemClock });
}

function closeAtOnce(server: Server): void {
  server.close();
  server.closeAllConnections();
}

async function listen(server: Server, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address();
  return localAddress({ host, port: typeof bound === 'object' && bound ? bound.port : port });
}

function announce({ firstRun, role, print }: ServeOptions, banner: Banner): void {
  if (firstRun) {
    print(renderBanner(banner));
    return;
  }
  const { settings, address, metricsAddress, notices } = banner;
  const what = role === 'worker' ? 'runs jobs, and tells how they fare' : 'listens';
  const links = describeLinks(settings, address);
  const lines = [
    `mediagate ${what} on ${describeListening(settings, address)}`,
    ...(links === address ? [] : [`Links name ${links}`]),
    ...(metricsAddress ? [`Metrics are at ${metricsAddress}/metrics`] : []),
    ...notices,
  ];
  print(`${lines.join('\n')}\n`);
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
