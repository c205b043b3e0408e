/*
 * The browser service for plugins. Each visit has a browser process and a page of its own, so one that crashes, hangs
 * or uses too much memory ends without affecting others. Two visits run at once by default, 16 wait, and further ones
 * get `queue_full`. All traffic passes a filtering proxy with credentials per visit, at most 64 MiB and 64
 * connections. An idle browser is used again for up to 50 visits and ends after a minute; one that used half of its
 * memory limit is not used again. Nothing starts before the first visit.
 */

import pLimit, { type LimitFunction } from 'p-limit';
import type { Browser, BrowserCall, Logger } from '../contracts/index.js';
import { type AddressGuard, type EgressProxy, readProxyUrl } from '../net/index.js';
import { leaveScope } from '../observability/index.js';
import { GatewayError, isGatewayError, unlessAborted, withDeadline } from '../runtime/index.js';
import { browserFailure } from './browser-connection.js';
import { exitOf, Launcher, type RunningBrowser, removeLeftProfiles } from './browser-launch.js';
import { type BrowserExecutable, watchMemory } from './browser-process.js';
import { type ForwardProxy, startForwardProxy } from './filtering-proxy.js';

export interface BrowserServiceOptions {
  /** The browser to run. Called at the first visit, and for every browser that is started. */
  executable(): Promise<BrowserExecutable>;
  guard: AddressGuard;
  /** Forward proxy for everything. Default: none. */
  egressProxyUrl?: string;
  logger: Logger;
  /** Maximum concurrent visits; more are queued. Default 2. */
  maxPages?: number;
  /** Default 50. */
  visitsPerBrowser?: number;
  /** Milliseconds that an unused browser is kept. Default 60,000. */
  idleMs?: number;
  /** Maximum resident memory of the browser of one visit, all its processes together. Default 1.5 GiB. */
  maxMemoryBytes?: number;
}

/** Limits of a scoped client, for every visit. */
export interface ScopeOptions {
  timeoutMs: number;
  trustedOrigins: readonly string[];
  /** Aborts every visit of the client. */
  signal: AbortSignal;
}

/** Creates scoped clients of the shared browser, each with limits of its own. */
export interface BrowserClients {
  readonly available: boolean;
  scoped(options: ScopeOptions): Browser;
}

const MAX_PAGES = 2;
const MAX_WAITING = 16;
const RETRY_SECONDS = 10;
const VISITS_PER_BROWSER = 50;
const IDLE_MS = 60_000;
/** Closing a page takes some ten milliseconds; a browser that takes this long does not respond any more. */
const CLOSING_MS = 3_000;
const MAX_VISIT_BYTES = 64 * 1024 * 1024;
const MAX_VISIT_CONNECTIONS = 64;
const MAX_MEMORY_BYTES = 1536 * 1024 * 1024;
const LOCALE = 'en-US';

/** One browser per running visit, all behind one guarded proxy. Nothing starts before the first visit. */
export class BrowserService implements BrowserClients {
  readonly available = true;
  readonly #options: BrowserServiceOptions;
  readonly #egressProxy: EgressProxy | undefined;
  readonly #limit: LimitFunction;
  readonly #closing = new AbortController();
  readonly #supply: BrowserSupply;
  #exit: Promise<ForwardProxy> | undefined;
  #launcher: Launcher | undefined;

  /** @throws Error if `egressProxyUrl` is no http or https URL. */
  constructor(options: BrowserServiceOptions) {
    const { egressProxyUrl, maxPages = MAX_PAGES, visitsPerBrowser = VISITS_PER_BROWSER, idleMs = IDLE_MS } = options;
    this.#options = options;
    this.#egressProxy = egressProxyUrl === undefined ? undefined : readProxyUrl(egressProxyUrl);
    this.#limit = pLimit(maxPages);
    // A browser outlives the visit that it is started for.
    const start = () => leaveScope(() => this.#start());
    this.#supply = new BrowserSupply({ start, visitsPerBrowser, idleMs });
  }

  scoped(limits: ScopeOptions): Browser {
    return { available: true, run: (call) => this.#run(call, limits) };
  }

  /** Ends every process and visit. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
    await this.#supply.close();
    await (await this.#exit)?.close();
  }

  async #run<Result>(call: BrowserCall<Result>, limits: ScopeOptions): Promise<Result> {
    if (this.#limit.pendingCount >= MAX_WAITING) {
      throw new GatewayError('queue_full', 'Too many visits wait for the browser.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
    const signals = [call.signal, limits.signal, this.#closing.signal];
    const timeoutMs = Math.min(call.timeoutMs ?? limits.timeoutMs, limits.timeoutMs);
    const run = (signal: AbortSignal) =>
      this.#limit(async () => {
        signal.throwIfAborted();
        return this.#supply.use((browser) => this.#visit(browser, call, limits, signal));
      });
    const error = () => new GatewayError('upstream_timeout', 'The browser did not finish in time.');
    return withDeadline(timeoutMs, run, { signals, error });
  }

  #openExit(): Promise<ForwardProxy> {
    const { guard } = this.#options;
    this.#exit ??= removeLeftProfiles().then(() => startForwardProxy({ guard, egressProxy: this.#egressProxy }));
    return this.#exit;
  }

  async #start(): Promise<RunningBrowser> {
    const { executable, logger } = this.#options;
    try {
      const [{ port }, found] = await Promise.all([this.#openExit(), executable()]);
      this.#closing.signal.throwIfAborted();
      this.#launcher ??= new Launcher({ behindEgressProxy: this.#egressProxy !== undefined, logger });
      return await this.#launcher.launch(found, port);
    } catch (error) {
      if (isGatewayError(error)) throw error;
      logger.error('the browser did not start', { error });
      throw new GatewayError('plugin_unavailable', 'The browser could not be started.', { cause: error });
    }
  }

  async #visit<Result>(
    browser: RunningBrowser,
    { visit, locale = LOCALE }: BrowserCall<Result>,
    { trustedOrigins }: ScopeOptions,
    signal: AbortSignal,
  ): Promise<Result> {
    signal.throwIfAborted();
    const { guard, logger, maxMemoryBytes = MAX_MEMORY_BYTES } = this.#options;
    const { port, issue } = await this.#openExit();
    const pass = issue({ trustedOrigins, maxBytes: MAX_VISIT_BYTES, maxConnections: MAX_VISIT_CONNECTIONS });
    const { username, password } = pass;
    const spent = pass.spent.then(() => {
      throw new GatewayError('upstream_error', 'The page loads too much.');
    });
    // Observed during the visit.
    spent.catch(() => {});
    const { memory, exceeded } = this.#watch(browser, maxMemoryBytes);
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
      // Closing fails if it has ended already, which is fine.
      await opening.then((opened) => opened.close()).catch(() => {});
      clearTimeout(hung);
      memory.stop();
      // The state of one page must not affect the next.
      if (memory.bytes() > maxMemoryBytes / 2) void browser.kill();
      logger.debug('a visit of the browser ended', { bytes: pass.bytes, count: pass.refusals });
    }
  }

  /** Kills the browser if it uses too much memory; `exceeded` rejects then. */
  #watch(browser: RunningBrowser, maxBytes: number) {
    const { promise: exceeded, reject } = Promise.withResolvers<never>();
    exceeded.catch(() => {});
    const memory = watchMemory({
      leader: browser.pid,
      maxBytes,
      onExceeded: (bytes) => {
        reject(new GatewayError('upstream_error', 'The page uses too much memory.'));
        void browser.kill();
        const message = 'a browser was ended: its page used more memory than BROWSER_MEMORY_MB';
        this.#options.logger.warn(message, { bytes });
      },
    });
    return { memory, exceeded };
  }
}

interface BrowserSupplyOptions {
  start(): Promise<RunningBrowser>;
  /** A browser is replaced after so many visits, which ends its memory leaks. */
  visitsPerBrowser: number;
  /** Milliseconds after which an unused browser is ended. */
  idleMs: number;
}

interface Tenure {
  readonly browser: Promise<RunningBrowser>;
  /** Set once it has started. */
  running?: RunningBrowser;
  visits: number;
  /** Runs while it is idle. */
  timer?: NodeJS.Timeout;
}

/**
 * A pool of browsers, started on demand and ended when unused. Each visit has its own browser, so that one that
 * crashes, hangs or uses too much memory is ended without affecting others.
 */
class BrowserSupply {
  readonly #options: BrowserSupplyOptions;
  readonly #tenures = new Set<Tenure>();
  readonly #idle: Tenure[] = [];

  constructor(options: BrowserSupplyOptions) {
    this.#options = options;
  }

  /**
   * Lends a browser: an idle one, otherwise a new one. One that ended, or has served its maximum, is not lent again.
   */
  async use<Result>(work: (browser: RunningBrowser) => Promise<Result>): Promise<Result> {
    const tenure = this.#takeIdle() ?? this.#begin();
    tenure.visits++;
    try {
      return await work(await tenure.browser);
    } finally {
      this.#release(tenure);
    }
  }

  /** Kills every browser at once. */
  async close(): Promise<void> {
    await Promise.all([...this.#tenures].map((tenure) => this.#end(tenure)));
  }

  #begin(): Tenure {
    const tenure: Tenure = { browser: this.#options.start(), visits: 0 };
    this.#tenures.add(tenure);
    const forget = () => {
      clearTimeout(tenure.timer);
      this.#tenures.delete(tenure);
      this.#removeIdle(tenure);
    };
    tenure.browser
      .then((browser) => {
        tenure.running = browser;
        return browser.ended;
      })
      .then(forget, forget);
    return tenure;
  }

  /** The one that was used last, so that the others can end. */
  #takeIdle(): Tenure | undefined {
    for (let tenure = this.#idle.pop(); tenure; tenure = this.#idle.pop()) {
      clearTimeout(tenure.timer);
      if (tenure.running?.alive) return tenure;
    }
    return undefined;
  }

  #removeIdle(tenure: Tenure): void {
    const index = this.#idle.indexOf(tenure);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  #release(tenure: Tenure): void {
    if (!tenure.running?.alive || tenure.visits >= this.#options.visitsPerBrowser) {
      void this.#end(tenure);
      return;
    }
    this.#idle.push(tenure);
    tenure.timer = setTimeout(() => this.#end(tenure), this.#options.idleMs).unref();
  }

  #end(tenure: Tenure): Promise<void> {
    this.#removeIdle(tenure);
    // One that did not start has nothing to end.
    return tenure.browser.then(
      (browser) => browser.kill(),
      () => {},
    );
  }
}
