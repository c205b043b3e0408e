/*
 * Runs `mediagate serve`: opens everything, listens, prints the address or the first-run banner, and waits for a
 * signal. The start does not wait for the check of upstreams, whose results are logged. The first signal drains:
 * running requests may finish within the configured time, jobs stop in order, and everything is closed. A second signal
 * ends the process at once. An unhandled rejection is logged and the process continues; an uncaught error ends it with
 * exit code 1, because its state is unknown. A broken socket affects only itself.
 */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Gateway, GatewayServices } from 'mediagate';
import { type Logger, systemClock } from '../core/runtime/index.js';
import { type Banner, renderBanner, samplesOf, startNotices } from './cli/index.js';
import { type CloseList, openOrClose } from './close-list.js';
import { describeLinks, describeListening, drain, type HttpServer, localAddress, matcherOf } from './http/index.js';
import { openServer } from './open-server.js';
import { type Role, settingsOfWorker, storedInFolder } from './roles.js';
import type { Settings } from './settings/index.js';
import { SAME_SIGNAL_MS, type WorkerPlace, type WorkerSiblings } from './workers/index.js';

const METRICS_CONNECTIONS = 100;
/** Milliseconds that idle connections stay open when another worker takes over; Node's keep-alive ends them before. */
const RETIRED_IDLE_MS = 70_000;

export interface ServeOptions {
  settings: Settings;
  environment: NodeJS.ProcessEnv;
  /** Makes a key if there is none, and prints everything a new user needs. Default false: prints only the address. */
  firstRun?: boolean;
  /** Default `all`. */
  role?: Role;
  /** A logger in place of the one that writes to standard output. */
  services?: Pick<GatewayServices, 'logger'>;
  print(text: string): void;
}

/** This process as one worker of several. */
export interface Worker {
  place: WorkerPlace;
  siblings: WorkerSiblings;
}

/** A running gateway. */
export interface Serving {
  readonly logger: Logger;
  /** Notices for its log. */
  readonly banner: Banner;
  /** Takes connections from the supervisor, if there is one. */
  takeConnections(): void;
  /**
   * Finishes requests in flight and closes everything. True if nothing had to be aborted.
   * @param retiring Given where other workers serve on: the gateway stays ready, and idle connections get time to be used
   *   until this aborts.
   */
  stop(retiring?: AbortSignal): Promise<boolean>;
}

/** Opens everything, then listens, and handles no signal. If it fails, what was opened before is closed. */
export function startServing(options: ServeOptions, worker?: Worker): Promise<Serving> {
  return openOrClose((opened) => open(options, worker, opened));
}

async function open(options: ServeOptions, worker: Worker | undefined, opened: CloseList): Promise<Serving> {
  const { environment, role = 'all' } = options;
  const listeners = import('./http/http-server.js');
  let address = '';
  let server: HttpServer | undefined;
  const connections = async () => server?.countConnections() ?? 0;
  const scoped = await openServer({ ...options, ...worker, address: () => address, connections });
  opened.add(() => scoped.close());
  const { settings, logger, gateway, health, metricsHandler } = scoped;
  const { metricsHost, metricsPort, maxConnections, maxConnectionsPerAddress, trustedProxies } = settings;
  const { createHttpServer } = await listeners;
  let metricsAddress: string | undefined;
  let metricsListening: HttpServer | undefined;
  if (metricsHandler && metricsPort !== undefined) {
    const metricsServer = createHttpServer({ handler: metricsHandler, maxConnections: METRICS_CONNECTIONS });
    opened.add(() => closeAtOnce(metricsServer));
    metricsListening = metricsServer;
    metricsAddress = await listen(metricsServer, { host: metricsHost, port: metricsPort }, worker?.place.ports.metrics);
  }
  const listening = createHttpServer({
    handler: scoped.handler,
    maxConnections,
    maxConnectionsPerAddress,
    isProxy: matcherOf(trustedProxies),
  });
  server = listening;
  address = await listen(listening, settings, worker?.place.ports.product);
  const leaving = new AbortController();
  const checked = checkUpstreams(gateway, logger, leaving.signal);
  opened.add(() => {
    leaving.abort();
    return checked;
  });
  const stored = storedInFolder(settings);
  if (role !== 'all' && stored.length > 0)
    logger.warn(
      `all nodes must share this DATA_DIR, since it holds secrets that must be equal on all nodes: ${stored.join(', ')}`,
    );
  return {
    logger,
    banner: {
      address,
      metricsAddress,
      settings,
      workers: worker?.place.count ?? 1,
      engine: scoped.state.engine,
      plugins: gateway.plugins(),
      platforms: gateway.platforms(),
      samples: samplesOf(gateway),
      notices: [
        ...(worker?.place.announces === false ? [] : await scoped.signInNotices()),
        ...startNotices({ environment, gateway, messagesEnabled: settings.messagesEnabled }),
      ],
      signIn: scoped.signIn?.(),
      newKey: scoped.newKey,
    },
    takeConnections() {
      worker?.siblings.takeConnections((port, socket) =>
        port === 'metrics' ? metricsListening?.take(socket) : listening.take(socket),
      );
    },
    async stop(retiring) {
      health.startDraining({ staysReady: retiring !== undefined });
      const [drained] = await Promise.all([
        drain(listening, {
          ...(worker && { stopAccepting: () => worker.siblings.leave() }),
          acceptMs: retiring ? 0 : settings.drainSeconds * 1000,
          ...(retiring && { idle: { ms: RETIRED_IDLE_MS, until: retiring } }),
          timeoutMs: settings.shutdownSeconds * 1000,
          cutOff: () => gateway.text.cutOff(),
        }),
        scoped.stopJobs(),
      ]);
      await worker?.siblings.bequeath();
      await opened.close();
      return drained;
    },
  };
}

/** Logs what the upstreams answer: a warning for each that cannot be used. The start does not wait for it. */
async function checkUpstreams(gateway: Gateway, logger: Logger, signal: AbortSignal): Promise<void> {
  try {
    const checks = await gateway.checkUpstreams(signal);
    if (checks.length === 0) return;
    const { describeUpstreams } = await import('./doctor/index.js');
    for (const { ok, detail, advice } of describeUpstreams(checks)) {
      if (ok) logger.info(`upstream of ${detail}`);
      else logger.warn(`upstream of ${detail} ${advice}`);
    }
  } catch (error) {
    if (!signal.aborted) logger.error('the upstreams could not be checked', { error });
  }
}

/** An error of a socket without a listener affects only that socket; ending the process would affect all others. */
function isBrokenConnection({ code, syscall }: NodeJS.ErrnoException): boolean {
  return (code === 'ECONNRESET' || code === 'EPIPE') && (syscall === 'read' || syscall === 'write');
}

function closeAtOnce(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/**
 * Listens. @returns The address on this machine.
 * @param taken The port on which a supervisor listens instead.
 */
async function listen(
  server: Server,
  { host, port }: Pick<Settings, 'host' | 'port'>,
  taken: number | undefined,
): Promise<string> {
  if (taken !== undefined) return localAddress({ host, port: taken });
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
  const { settings, address, metricsAddress, workers, notices } = banner;
  const what = role === 'worker' ? 'runs jobs and reports their state' : 'listens';
  const links = describeLinks(settings, address);
  const lines = [
    `mediagate ${what} on ${describeListening(settings, address)}`,
    ...(links === address ? [] : [`Links begin with ${links}`]),
    ...(workers > 1 ? [`${workers} workers answer requests`] : []),
    ...(metricsAddress ? [`Metrics are at ${metricsAddress}/metrics`] : []),
    ...notices,
  ];
  print(`${lines.join('\n')}\n`);
}

/** Serves in this process until a signal. Resolves with the exit code. */
export async function serveHere(options: ServeOptions, worker?: Worker): Promise<number> {
  const { settings, firstRun = false, print } = options;
  const announces = worker?.place.announces ?? true;
  const serving = await startServing(
    {
      ...options,
      settings: worker ? settingsOfWorker(settings, worker.place) : settings,
      firstRun: firstRun && announces,
    },
    worker,
  );
  const ended = untilItEnds(serving, worker);
  serving.takeConnections();
  // Last: a reader of this line may send a signal at once, which must already be handled.
  if (announces) announce(options, serving.banner);
  const { exitCode, retiring } = await ended;
  if (exitCode === 0 && announces && !retiring)
    print('\nFinishing running requests. Press Ctrl-C again to stop at once.\n');
  await serving.stop(retiring);
  return exitCode;
}

interface Ending {
  /** 0 for a signal; 1 for an error outside of any request, after which the state of the process is unknown. */
  exitCode: number;
  /** Where another worker takes over; aborts at a signal for this one, or when the supervisor is gone. */
  retiring?: AbortSignal;
}

function untilItEnds({ logger }: Serving, worker: Worker | undefined): Promise<Ending> {
  return new Promise((resolve) => {
    let stoppedAt: number | undefined;
    const stopped = new AbortController();
    const stop = () => {
      const now = systemClock.monotonic();
      if (stoppedAt === undefined) {
        stoppedAt = now;
        stopped.abort();
        resolve({ exitCode: 0 });
      } else if (now - stoppedAt > SAME_SIGNAL_MS) process.exit(1);
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
    // Of several workers, the supervisor decides what it means.
    process.on('SIGHUP', worker ? () => {} : stop);
    worker?.siblings.onRetire(() => resolve({ exitCode: 0, retiring: stopped.signal }));
    worker?.siblings.onOrphaned(stop);
    // An unhandled rejection of a plugin is that plugin's failure; others continue.
    process.on('unhandledRejection', (error) => logger.error('unhandled promise rejection', { error }));
    process.on('uncaughtException', (error) => {
      if (isBrokenConnection(error)) {
        logger.error('unhandled connection error', { error });
        return;
      }
      logger.error('uncaught error outside of a request; the process ends', { error });
      resolve({ exitCode: 1 });
    });
  });
}
