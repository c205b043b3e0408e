import pLimit from 'p-limit';
import type { BrowserCall, Logger } from '../contracts/index.js';
import type { AddressGuard } from '../net/index.js';
import { readProxyUrl } from '../net/index.js';
import { leaveScope } from '../observability/index.js';
import type { BrowserFaces, FaceOptions } from '../plugins/index.js';
import { GatewayError, isGatewayError, unlessAborted, withDeadline } from '../runtime/index.js';
import { exitOf } from './browser-arguments.js';
import { browserFailure } from './browser-failure.js';
import { createLauncher, type Launcher, type RunningBrowser } from './browser-launch.js';
import { watchMemory } from './browser-memory.js';
import type { BrowserExecutable } from './browser-process.js';
import { removeLeftProfiles } from './browser-profile.js';
import { createBrowserSupply } from './browser-supply.js';
import { type ForwardProxy, startForwardProxy } from './forward-proxy.js';

export interface BrowserServiceOptions {
  /** The browser to run. Asked at the first visit, and again for every browser that is started. */
  executable(): Promise<BrowserExecutable>;
  guard: AddressGuard;
  /** Forward proxy that everything leaves through. Default: none. */
  egressProxyUrl?: string;
  logger: Logger;
  /** Visits at the same time; more wait for their turn. Default 2. */
  maxPages?: number;
  /** Default 50. */
  visitsPerBrowser?: number;
  /** Milliseconds that an unused browser is kept. Default 60,000. */
  idleMs?: number;
  /** Resident memory of the browser of one visit, all its processes together. Default 1.5 GiB. */
  maxMemoryBytes?: number;
}

/** A browser for each visit under way, all behind one guarded exit. */
export interface BrowserService extends BrowserFaces {
  /** Ends every process and visit. Idempotent. */
  close(): Promise<void>;
}

const MAX_PAGES = 2;
const MAX_WAITING = 16;
const RETRY_SECONDS = 10;
const VISITS_PER_BROWSER = 50;
const IDLE_MS = 60_000;
/** Closing a page takes some ten milliseconds; a browser that takes this long does not answer any more. */
const CLOSING_MS = 3_000;
const MAX_VISIT_BYTES = 64 * 1024 * 1024;
const MAX_VISIT_CONNECTIONS = 64;
const MAX_MEMORY_BYTES = 1536 * 1024 * 1024;
const LOCALE = 'en-US';

/**
 * Makes the service. Nothing is loaded, opened or started before the first visit.
 * @throws Error where `egressProxyUrl` is no http or https URL.
 */
export function createBrowserService(options: BrowserServiceOptions): BrowserService {
  const { executable, guard, egressProxyUrl, logger, maxMemoryBytes = MAX_MEMORY_BYTES } = options;
  const egressProxy = egressProxyUrl === undefined ? undefined : readProxyUrl(egressProxyUrl);
  const limit = pLimit(options.maxPages ?? MAX_PAGES);
  const closing = new AbortController();
  const supply = createBrowserSupply({
    // It outlives the visit that it is started for.
    start: () => leaveScope(start),
    visitsPerBrowser: options.visitsPerBrowser ?? VISITS_PER_BROWSER,
    idleMs: options.idleMs ?? IDLE_MS,
  });
  let exit: Promise<ForwardProxy> | undefined;
  let launcher: Launcher | undefined;

  function openExit(): Promise<ForwardProxy> {
    exit ??= removeLeftProfiles().then(() => startForwardProxy({ guard, egressProxy }));
    return exit;
  }

  async function start(): Promise<RunningBrowser> {
    try {
      const [{ port }, found] = await Promise.all([openExit(), executable()]);
      closing.signal.throwIfAborted();
      launcher ??= createLauncher({ behindEgressProxy: egressProxy !== undefined, logger });
      return await launcher.launch(found, port);
    } catch (error) {
      if (isGatewayError(error)) throw error;
      logger.error('the browser did not start', { error });
      throw new GatewayError('plugin_unavailable', 'The browser could not be started.', { cause: error });
    }
  }

  async function visit<Result>(
    browser: RunningBrowser,
    { visit, locale = LOCALE }: BrowserCall<Result>,
    { trustedOrigins }: FaceOptions,
    signal: AbortSignal,
  ): Promise<Result> {
    signal.throwIfAborted();
    const { port, issue } = await openExit();
    const pass = issue({ trustedOrigins, maxBytes: MAX_VISIT_BYTES, maxConnections: MAX_VISIT_CONNECTIONS });
    const { username, password } = pass;
    const spent = pass.spent.then(() => {
      throw new GatewayError('upstream_error', 'The page loads too much.');
    });
    // Heard of while the visit lasts.
    spent.catch(() => {});
    let exceed = (_error: GatewayError) => {};
    const exceeded = new Promise<never>((_resolve, reject) => {
      exceed = reject;
    });
    exceeded.catch(() => {});
    const memory = watchMemory({
      leader: browser.pid,
      maxBytes: maxMemoryBytes,
      onExceeded(bytes) {
        exceed(new GatewayError('upstream_error', 'The page takes too much memory.'));
        void browser.kill();
        logger.warn('a browser was ended, for its page takes too much memory; BROWSER_MEMORY_MB is the bound', {
          bytes,
        });
      },
    });
    const opening = browser.openPage({
      exit: { ...exitOf(port), username, password },
      locale,
      checkUrl: (url) => guard.checkUrl(url, trustedOrigins),
    });
    try {
      const { page, lost } = await unlessAborted(signal, opening).catch((error) => {
        throw browserFailure(error);
      });
      return await unlessAborted(signal, Promise.race([exceeded, lost, spent, visit(page, signal)]));
    } finally {
      pass.revoke();
      const hung = setTimeout(() => void browser.kill(), CLOSING_MS);
      // Closing what is gone already fails, and is done.
      await opening.then((opened) => opened.close()).catch(() => {});
      clearTimeout(hung);
      memory.stop();
      // What one page has left behind must not count against the next.
      if (memory.bytes() > maxMemoryBytes / 2) void browser.kill();
      logger.debug('a visit of the browser ended', { bytes: pass.bytes, count: pass.refusals });
    }
  }

  return {
    available: true,
    face: (limits) => ({
      available: true,
      async run(call) {
        if (limit.pendingCount >= MAX_WAITING) {
          throw new GatewayError('queue_full', 'Too many visits wait for the browser.', {
            retryAfterSeconds: RETRY_SECONDS,
          });
        }
        const signals = [call.signal, limits.signal, closing.signal].filter((signal) => signal !== undefined);
        const timeoutMs = Math.min(call.timeoutMs ?? limits.timeoutMs, limits.timeoutMs);
        return withDeadline({ timeoutMs, signals, message: 'The browser was not done in time.' }, (signal) =>
          limit(async () => {
            signal.throwIfAborted();
            return supply.use((browser) => visit(browser, call, limits, signal));
          }),
        );
      },
    }),
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await supply.close();
      await (await exit)?.close();
    },
  };
}
