import { once } from 'node:events';
import type { Server } from 'node:http';
import { promisify } from 'node:util';
import { type Logger, systemClock } from 'mediagate';
import { type Banner, renderBanner, samplesOf, startNotices } from './cli/index.js';
import { type CloseList, openOrClose } from './close-list.js';
import { describeLinks, describeListening, drain, localAddress, matcherOf } from './http/index.js';
import { openServer } from './open-server.js';
import { keptInFolder, type Role } from './roles.js';
import type { Settings } from './settings/index.js';

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

/** Opens everything, then listens. Whatever fails on the way, what was opened before is closed. */
function startServing(options: ServeOptions): Promise<Serving> {
  return openOrClose((opened) => open(options, opened));
}

async function open(options: ServeOptions, opened: CloseList): Promise<Serving> {
  const { environment, role = 'all' } = options;
  const listeners = import('./http/http-server.js');
  let address = '';
  let server: Server | undefined;
  const connections = async () => (server ? promisify(server.getConnections.bind(server))() : 0);
  const face = await openServer({ ...options, address: () => address, connections });
  opened.add(() => face.close());
  const { settings, logger, gateway, health, metricsHandler } = face;
  const { metricsHost, metricsPort, maxConnections, maxConnectionsPerAddress, trustedProxies } = settings;
  const { createHttpServer } = await listeners;
  let metricsAddress: string | undefined;
  if (metricsHandler && metricsPort !== undefined) {
    const metricsServer = createHttpServer({ handler: metricsHandler, maxConnections: METRICS_CONNECTIONS });
    opened.add(() => closeAtOnce(metricsServer));
    metricsAddress = await listen(metricsServer, { host: metricsHost, port: metricsPort });
  }
  const listening = createHttpServer({
    handler: face.handler,
    maxConnections,
    maxConnectionsPerAddress,
    isProxy: matcherOf(trustedProxies),
  });
  server = listening;
  address = await listen(listening, settings);
  const kept = keptInFolder(settings);
  if (role !== 'all' && kept.length > 0)
    logger.warn(`all nodes have to share this DATA_DIR, which keeps what is the same for all: ${kept.join(', ')}`);
  return {
    logger,
    banner: {
      address,
      metricsAddress,
      settings,
      engine: face.state.engine,
      plugins: gateway.plugins(),
      samples: samplesOf(gateway),
      notices: startNotices({ environment, gateway }),
      signIn: face.signIn?.(),
      newKey: face.newKey,
    },
    async stop() {
      health.startDraining();
      const [drained] = await Promise.all([
        drain(listening, {
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

/** Of a socket that somebody forgot: nothing but that socket is the worse for it, and all others would be for an end. */
function isBrokenConnection({ code, syscall }: NodeJS.ErrnoException): boolean {
  return (code === 'ECONNRESET' || code === 'EPIPE') && (syscall === 'read' || syscall === 'write');
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
    ...(links === address ? [] : [`Links begin with ${links}`]),
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
      if (isBrokenConnection(error)) {
        logger.error('a connection broke and nobody listened to it', { error });
        return;
      }
      logger.error('something was thrown outside of any request; the process ends', { error });
      resolve(1);
    });
  });
}
