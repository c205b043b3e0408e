import type { RunningBrowser } from './browser-launch.js';

export interface BrowserSupplyOptions {
  start(): Promise<RunningBrowser>;
  /** A browser that has served so many is replaced: what it leaks goes with it. */
  visitsPerBrowser: number;
  /** Milliseconds after which a browser that nobody uses is ended. */
  idleMs: number;
}

/** A browser whenever one is needed, and none where none is. */
export interface BrowserSupply {
  /** Lends the browser. One that ended, or has served its time, is replaced; those who still use it are not disturbed. */
  use<Result>(work: (browser: RunningBrowser) => Promise<Result>): Promise<Result>;
  /** Ends every browser at once. */
  close(): Promise<void>;
}

interface Tenure {
  readonly browser: Promise<RunningBrowser>;
  /** Once it has started. */
  running?: RunningBrowser;
  visits: number;
  active: number;
}

export function createBrowserSupply({ start, visitsPerBrowser, idleMs }: BrowserSupplyOptions): BrowserSupply {
  const tenures = new Set<Tenure>();
  let current: Tenure | undefined;
  let idle: NodeJS.Timeout | undefined;

  function begin(): Tenure {
    const tenure: Tenure = { browser: start(), visits: 0, active: 0 };
    tenures.add(tenure);
    const forget = () => {
      tenures.delete(tenure);
      if (current === tenure) current = undefined;
    };
    tenure.browser
      .then((browser) => {
        tenure.running = browser;
        return browser.ended;
      })
      .then(forget, forget);
    return tenure;
  }

  function leave(tenure: Tenure): void {
    tenure.active--;
    if (tenure.active > 0) return;
    if (tenure !== current) end(tenure);
    else idle = setTimeout(() => end(tenure), idleMs).unref();
  }

  function end(tenure: Tenure): Promise<void> {
    if (current === tenure) current = undefined;
    // One that did not start has nothing to end.
    return tenure.browser.then(
      (browser) => browser.kill(),
      () => {},
    );
  }

  return {
    async use(work) {
      clearTimeout(idle);
      if (!current || current.running?.alive === false) current = begin();
      const tenure = current;
      tenure.visits++;
      tenure.active++;
      if (tenure.visits >= visitsPerBrowser) current = undefined;
      try {
        return await work(await tenure.browser);
      } finally {
        leave(tenure);
      }
    },
    async close() {
      clearTimeout(idle);
      await Promise.all([...tenures].map(end));
    },
  };
}
