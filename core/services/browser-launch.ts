import { getCACertificates } from 'node:tls';
import type { Logger } from '../contracts/services.js';
import { withDeadline } from '../deadline.js';
import { browserArguments } from './browser-arguments.js';
import { type BrowserConnection, connectBrowser } from './browser-connection.js';
import { createPipeTransport } from './browser-pipe.js';
import { type BrowserExecutable, type BrowserProcess, startBrowserProcess } from './browser-process.js';
import { createProfile, removeProfile } from './browser-profile.js';

export interface LaunchOptions {
  executable: BrowserExecutable;
  proxyPort: number;
  /** The operator's proxy may be one that opens TLS and signs anew, with an authority this process was told to believe. */
  behindEgressProxy: boolean;
  logger: Logger;
}

/** A browser with its processes and its folder. */
export interface RunningBrowser extends BrowserConnection {
  /** False from the moment it is known to end. */
  readonly alive: boolean;
  /** Resolves when nothing of it is left. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends it at once, whatever it is doing. Idempotent. */
  kill(): Promise<void>;
}

const START_MS = 20_000;
const NO_SANDBOX = /No usable sandbox/;

/** @throws Error with the last words of the browser where it does not start. */
export async function launchBrowser(options: LaunchOptions): Promise<RunningBrowser> {
  const { logger } = options;
  // Chromium refuses to start as root with its sandbox.
  if (process.getuid?.() === 0) return launch(options, false);
  try {
    return await launch(options, true);
  } catch (error) {
    if (!(error instanceof Error && NO_SANDBOX.test(error.message))) throw error;
    logger.warn('this system gives the browser no sandbox; it runs without', { error });
    return launch(options, false);
  }
}

async function launch(
  { executable, proxyPort, behindEgressProxy }: LaunchOptions,
  sandbox: boolean,
): Promise<RunningBrowser> {
  const profile = await createProfile();
  const authorities = behindEgressProxy ? getCACertificates('extra') : [];
  const started = startBrowserProcess(executable, {
    arguments: browserArguments({ profile, proxyPort, sandbox, authorities }),
    profile,
  });
  const ended = started
    .then((browser) => browser.ended)
    .catch(() => {})
    .then(() => removeProfile(profile));
  const browser = await started;
  try {
    const connection = await connect(browser, profile);
    return {
      ...connection,
      get alive() {
        return browser.alive;
      },
      ended: ended.catch(() => {}),
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

function connect(browser: BrowserProcess, profile: string): Promise<BrowserConnection> {
  const transport = createPipeTransport({ ...browser, onOverflow: () => void browser.kill() });
  const message = 'The browser did not start in time.';
  return withDeadline({ timeoutMs: START_MS, message }, () =>
    Promise.race([
      connectBrowser(transport, { artifactsDir: profile, timeoutMs: START_MS }),
      browser.ended.then((words) => Promise.reject(new Error(words))),
    ]),
  );
}
