import { getCACertificates } from 'node:tls';
import type { Logger } from '../contracts/index.js';
import { withDeadline } from '../runtime/index.js';
import { browserArguments } from './browser-arguments.js';
import { type BrowserConnection, connectBrowser } from './browser-connection.js';
import { createPipeTransport } from './browser-pipe.js';
import { type BrowserExecutable, type BrowserProcess, startBrowserProcess } from './browser-process.js';
import { createProfile, removeProfile } from './browser-profile.js';

export interface LauncherOptions {
  /** The operator's proxy may be one that opens TLS and signs anew, with an authority this process was told to believe. */
  behindEgressProxy: boolean;
  logger: Logger;
}

/** Starts browsers. */
export interface Launcher {
  /** @throws Error with the last words of the browser where it does not start. */
  launch(executable: BrowserExecutable, proxyPort: number): Promise<RunningBrowser>;
}

/** A browser with its processes and its folder. */
export interface RunningBrowser extends BrowserConnection {
  /** Of its first process. */
  readonly pid: number;
  /** False from the moment it is known to end. */
  readonly alive: boolean;
  /** Resolves when nothing of it is left. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends it at once, whatever it is doing. Idempotent. */
  kill(): Promise<void>;
}

const START_MS = 20_000;
const NO_SANDBOX = /No usable sandbox/;

export function createLauncher({ behindEgressProxy, logger }: LauncherOptions): Launcher {
  const authorities = behindEgressProxy ? getCACertificates('extra') : [];
  // Chromium refuses to start as root with its sandbox.
  let sandbox = process.getuid?.() !== 0;
  if (!sandbox) logger.warn('the browser has no sandbox, for the gateway runs as root');

  async function start(executable: BrowserExecutable, proxyPort: number): Promise<RunningBrowser> {
    const profile = await createProfile();
    const starting = startBrowserProcess(executable, {
      arguments: browserArguments({ profile, proxyPort, sandbox, authorities }),
      profile,
    });
    const ended = starting
      .then((browser) => browser.ended)
      .catch(() => {})
      .then(() => removeProfile(profile))
      .catch((error: unknown) => logger.warn("a browser's folder could not be removed", { error }));
    const browser = await starting;
    try {
      const connection = await connect(browser, profile);
      return {
        ...connection,
        pid: browser.pid,
        get alive() {
          return browser.alive;
        },
        ended,
        async kill() {
          await browser.kill();
          await ended;
        },
      };
    } catch (error) {
      await browser.kill();
      throw new Error(`the browser did not start: ${await browser.ended}`, { cause: error });
    }
  }

  return {
    async launch(executable, proxyPort) {
      try {
        return await start(executable, proxyPort);
      } catch (error) {
        if (!sandbox || !(error instanceof Error && NO_SANDBOX.test(error.message))) throw error;
        sandbox = false;
        logger.warn('the browser has no sandbox, for this system gives it none', { error });
        return start(executable, proxyPort);
      }
    },
  };
}

function connect(browser: BrowserProcess, profile: string): Promise<BrowserConnection> {
  const transport = createPipeTransport({ ...browser, onBroken: () => void browser.kill() });
  const message = 'The browser did not start in time.';
  return withDeadline({ timeoutMs: START_MS, message }, () =>
    Promise.race([
      connectBrowser(transport, { artifactsDir: profile, timeoutMs: START_MS }),
      browser.ended.then((words) => Promise.reject(new Error(words))),
    ]),
  );
}
