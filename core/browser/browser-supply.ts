import type { RunningBrowser } from './browser-launch.js';

export interface BrowserSupplyOptions {
  start(): Promise<RunningBrowser>;
  /** A browser that has served so many is replaced: what it leaks goes with it. */
  visitsPerBrowser: number;
  /** Milliseconds after which a browser that nobody uses is ended. */
  idleMs: number;
}

/**
 * A browser whenever one is needed, and none where none is. Each visit has a browser to itself, so that one that crashes,
 * hangs or takes too much memory is ended without harm to the others.
 */
export interface BrowserSupply {
  /** Lends a browser: one that is idle, else a new one. One that ended, or has served its time, is not lent again. */
  use<Result>(work: (browser: RunningBrowser) => Promise<Result>): Promise<Result>;
  /** Ends every browser at once. */
  close(): Promise<void>;
}

interface Tenure {
  readonly browser: Promise<RunningBrowser>;
  /** Once it has started. */
  running?: RunningBrowser;
  visits: number;
  /** Runs while it is idle. */
  timer?: NodeJS.Timeout;
}

export function createBrowserSupply({ start, visitsPerBrowser, idleMs }: BrowserSupplyOptions): BrowserSupply {
  const tenures = new Set<Tenure>();
  const idle: Tenure[] = [];

  function begin(): Tenure {
    const tenure: Tenure = { browser: start(), visits: 0 };
    tenures.add(tenure);
    const forget = () => {
      clearTimeout(tenure.timer);
      tenures.delete(tenure);
      removeIdle(tenure);
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
  function takeIdle(): Tenure | undefined {
    for (let tenure = idle.pop(); tenure; tenure = idle.pop()) {
      clearTimeout(tenure.timer);
      if (tenure.running?.alive) return tenure;
    }
    return undefined;
  }

  function removeIdle(tenure: Tenure): void {
    const index = idle.indexOf(tenure);
    if (index !== -1) idle.splice(index, 1);
  }

  function release(tenure: Tenure): void {
    if (!tenure.running?.alive || tenure.visits >= visitsPerBrowser) {
      end(tenure);
      return;
    }
    idle.push(tenure);
    tenure.timer = setTimeout(() => end(tenure), idleMs).unref();
  }

  function end(tenure: Tenure): Promise<void> {
    removeIdle(tenure);
    // One that did not start has nothing to end.
    return tenure.browser.then(
      (browser) => browser.kill(),
      () => {},
    );
  }

  return {
    async use(work) {
      const tenure = takeIdle() ?? begin();
      tenure.visits++;
      try {
        return await work(await tenure.browser);
      } finally {
        release(tenure);
      }
    },
    async close() {
      await Promise.all([...tenures].map(end));
    },
  };
}
