import { stat } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createLogger, type Gateway, GatewayError, type Logger, mendSecrets, type Need, systemClock } from 'mediagate';
import type { SignInStatus } from './accounts/index.js';
import { type CloseList, openOrClose } from './close-list.js';
import { openFront } from './front.js';
import type { Health, Metrics } from './observability/index.js';
import { openTracing } from './observability/index.js';
import { openGateway } from './open-gateway.js';
import { openStateOf } from './open-state.js';
import { readCatalogue } from './plans/index.js';
import { type Role, settingsOfRole } from './roles.js';
import type { Settings } from './settings/index.js';
import { checkRoom, fingerprintsOf, secretsOf } from './settings/index.js';
import type { State } from './state.js';

export interface OpenServerOptions {
  /** As {@link readSettings} gives them. What a listener is told (`host`, `port`, its bounds) is the caller's to heed. */
  settings: Settings;
  /** Where the plugins file finds its variables, and `PATH` programs. */
  environment: NodeJS.ProcessEnv;
  /** Makes a key where there is none. Default false. */
  firstRun?: boolean;
  /** Default `all`. */
  role?: Role;
  /** Where it is reached if the settings name no `baseUrl`, without a trailing slash. Asked whenever a link is made. */
  address(): string;
  /** Open connections of clients, for the figures. Default: they are not told. */
  connections?(): Promise<number>;
}

/** Everything that `mediagate serve` opens but its listeners. */
export interface OpenServer extends AsyncDisposable {
  /** As the role has them. */
  readonly settings: Settings;
  readonly logger: Logger;
  readonly state: State;
  readonly gateway: Gateway;
  readonly health: Health;
  /** Answers every request, those for which there is no route included; for a server of Node's. */
  readonly handler: RequestListener;
  /** Answers with figures for Prometheus alone. Undefined where the settings want none. */
  readonly metricsHandler?: RequestListener;
  /** The key that was made just now. */
  readonly newKey?: string;
  /** Undefined where there are no accounts. */
  signIn?(): SignInStatus;
  /** Ends jobs in good order and closes everything, last opened first; to be called after its listeners closed. */
  close(): Promise<void>;
}

/**
 * Opens state, plugins and every route as the settings say, and listens nowhere. Whatever fails on the way, what was opened
 * before is closed.
 * @throws SettingsError, PluginConfigError, PlansFileError, and what {@link openState} and {@link createGateway} throw.
 */
export function openServer(options: OpenServerOptions): Promise<OpenServer> {
  return openOrClose((opened) => open(options, opened));
}

async function open(options: OpenServerOptions, opened: CloseList): Promise<OpenServer> {
  const { environment, firstRun = false, role = 'all', connections } = options;
  const settings = settingsOfRole(options.settings, role);
  const logger = createLogger({ level: settings.logLevel, secrets: secretsOf(settings) });
  opened.add(() => logger.close());
  // Koa takes longest to load, so it loads while the database opens.
  const modules = Promise.all([import('./app.js'), import('./observability/health.js')]);
  const tracing = await openTracing(settings, logger);
  opened.add(() => tracing?.close());
  const isWorker = role === 'worker';
  const { metricsPort, metricsPublic } = settings;
  const metrics = isWorker || metricsPublic || metricsPort !== undefined ? await openMetrics() : undefined;
  const tracer = tracing?.tracer;
  const meter = metrics?.meter;
  const state = await openStateOf(settings, logger, { tracer, meter });
  opened.add(() => state.close());
  const mended = await mendSecrets(settings.dataDir);
  if (mended.length > 0) {
    logger.warn(`other users could read ${mended.join(', ')} in DATA_DIR/secrets; only this user can now (0600)`);
  }
  await state.instances.join(await fingerprintsOf(settings, isWorker, await readCatalogue(settings.plansFile)));

  const services = { cache: state.cache, storage: state.files, meter };
  const baseUrl = () => settings.baseUrl ?? options.address();
  const { jobs } = state;
  const gateway = await openGateway({ settings, environment, logger, services, jobs, responses: state, baseUrl });
  opened.add(() => gateway.close());
  const front = isWorker
    ? undefined
    : await openFront({ settings, state, gateway, logger, tracer, metrics, firstRun, baseUrl, opened });

  const [{ createWorkerApp, createMetricsApp }, { createHealth }] = await modules;
  // Where the database is elsewhere, a full folder costs MP3s and nothing else.
  const { dataDir, databaseUrl } = settings;
  const isDatabaseHere = databaseUrl === undefined;
  const checks = {
    // It writes: a server that only reads takes no job.
    database: () => state.instances.beat(),
    data_folder: () => (isDatabaseHere ? checkRoom(dataDir) : stat(dataDir)),
  };
  const softChecks = {
    files: () => state.pingFiles(),
    cache: () => state.pingCache(),
    settings_agree: () => agree(state),
  };
  const wants: Need[] = settings.browser ? ['browser', 'ffmpeg'] : ['ffmpeg'];
  const signIn = front?.signIn;
  const health = createHealth({ gateway, wants, clock: systemClock, checks, softChecks, signIn });
  opened.add(() => health.close());
  const figures = { health, logger, clock: systemClock };
  const app = front ? await front.createApp(health) : createWorkerApp({ metrics, ...figures });
  metrics?.watch({
    jobs,
    gateway,
    dataDir,
    checks: () => health.checks(),
    ...(connections && { connections }),
    ...(front && { keysAgeMs: () => front.keysAgeMs() }),
    filesAwaiting: () => state.filesAwaiting(),
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
    ...(metrics && { metricsHandler: createMetricsApp({ metrics, ...figures }).callback() }),
    ...(front?.newKey !== undefined && { newKey: front.newKey }),
    ...(signIn && { signIn }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('./observability/metrics.js');
  return createMetrics({ clock: systemClock });
}

/** @throws GatewayError `invalid_value` where another process on the same database has other settings. */
async function agree({ instances }: State): Promise<void> {
  const settings = await instances.differing();
  if (settings.length === 0) return;
  throw new GatewayError('invalid_value', `Another gateway process has another ${settings.join(', ')}.`);
}
