import { createHash, randomUUID, X509Certificate } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates } from 'node:tls';
import type { Logger } from '../contracts/index.js';
import { GatewayError, isProcessRunning, withDeadline } from '../runtime/index.js';
import { type BrowserConnection, connectBrowser, createPipeTransport } from './browser-connection.js';
import { type BrowserExecutable, type BrowserProcess, startBrowserProcess } from './browser-process.js';

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
  const connected = Promise.race([
    connectBrowser(transport, { artifactsDir: profile, timeoutMs: START_MS }),
    browser.ended.then((words) => Promise.reject(new Error(words))),
  ]);
  const error = () => new GatewayError('upstream_timeout', 'The browser did not start in time.');
  return withDeadline(START_MS, () => connected, { error });
}

/**
 * The process that made a folder is in its name, and which start of it: a container gives each start the same id. A folder
 * without its process is nobody's.
 */
const FOLDER = /^mediagate-browser-(\d+)-/;
const OWN = `mediagate-browser-${process.pid}-${randomUUID().slice(0, 8)}-`;

/** What Chrome asks for on behalf of the page, and has no argument to switch off. The headless shell reads none of it. */
const PREFERENCES = {
  // After a connection that fails it would look for the sign-in page of a public network, and open it.
  alternate_error_pages: { enabled: false },
  safebrowsing: { enabled: false },
  search: { suggest_enabled: false },
} as const;

/** Makes a folder for one run of a browser, in the system's folder for temporary files, for this user's eyes only. */
export async function createProfile(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), OWN));
  await mkdir(path.join(folder, 'Default'));
  await writeFile(path.join(folder, 'Default', 'Preferences'), JSON.stringify(PREFERENCES));
  return folder;
}

/** What a browser wrote last may come while the folder is being emptied. */
export async function removeProfile(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/** Removes profiles of gateways that were killed. Best effort: what cannot be removed now is met again at the next start. */
export async function removeLeftProfiles(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(FOLDER.exec(name)?.[1]);
    if (!Number.isSafeInteger(pid)) continue;
    if (pid === process.pid ? name.startsWith(OWN) : isProcessRunning(pid)) continue;
    const folder = path.join(tmpdir(), name);
    const { uid } = await lstat(folder).catch(() => ({ uid: -1 }));
    // The folder for temporary files is everybody's; what another user planted there is left alone.
    if (uid === process.getuid?.()) await removeProfile(folder).catch(() => {});
  }
}

export interface BrowserArguments {
  /** Folder that the browser may write. */
  profile: string;
  /** Port on 127.0.0.1 of the one exit. */
  proxyPort: number;
  sandbox: boolean;
  /**
   * PEM certificates of authorities that are believed besides the browser's own. Chromium takes every chain that has the
   * key in it, signed by it or not: who stands between here and the origin and knows the certificate is believed as well.
   */
  authorities: readonly string[];
}

/** A name that only this browser resolves; see the resolver's rules below. */
const PROXY_HOST = 'exit.mediagate.invalid';
const HEAP_MIB = 512;

/** The exit as every context must name it. `<-loopback>` takes back the browser's own exception for local addresses. */
export function exitOf(proxyPort: number): { server: string; bypass: string } {
  return { server: `http://${PROXY_HOST}:${proxyPort}`, bypass: '<-loopback>' };
}

/**
 * Everything that a page could use to get past the proxy is off: name resolution, QUIC, WebRTC's own sockets, and what the
 * browser would ask for by itself.
 */
export function browserArguments({ profile, proxyPort, sandbox, authorities }: BrowserArguments): string[] {
  const { server, bypass } = exitOf(proxyPort);
  return [
    '--headless',
    '--remote-debugging-pipe',
    '--no-startup-window',
    `--user-data-dir=${profile}`,
    ...(sandbox ? [] : ['--no-sandbox']),

    `--proxy-server=${server}`,
    `--proxy-bypass-list=${bypass}`,
    // The second wall: nothing but the proxy has an address, literals included. The first rule that fits counts.
    `--host-resolver-rules=MAP ${PROXY_HOST} 127.0.0.1, MAP * ~NOTFOUND`,
    // One is read by the headless shell, the other by Chrome.
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--disable-quic',
    ...(authorities.length > 0 ? [`--ignore-certificate-errors-spki-list=${authorities.map(keyHash).join(',')}`] : []),

    '--disable-background-networking',
    '--disable-breakpad',
    '--disable-component-update',
    '--disable-crash-reporter',
    '--disable-default-apps',
    '--disable-domain-reliability',
    '--disable-extensions',
    '--disable-sync',
    '--dns-prefetch-disable',
    '--metrics-recording-only',
    '--no-default-browser-check',
    '--no-first-run',
    '--no-pings',
    `--disable-features=${[
      // Chrome sends the shape of every form to its maker.
      'AutofillServerCommunication',
      // Chrome tries https first wherever http was asked for.
      'HttpsUpgrades',
      // Cast and DIAL look for devices by multicast.
      'MediaRouter',
      'DialMediaRouteProvider',
      'NetworkTimeServiceQuerying',
      'OptimizationHints',
      'PreconnectToSearch',
      'Translate',
    ].join(',')}`,

    // One page a visit; what it opens besides is never shown.
    '--block-new-web-contents',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    '--disable-software-rasterizer',
    '--hide-scrollbars',
    '--mute-audio',
    '--password-store=basic',
    '--use-mock-keychain',
    `--js-flags=--max-old-space-size=${HEAP_MIB}`,
  ];
}

/** How the browser names a public key: base64 of the SHA-256 of its SubjectPublicKeyInfo. */
function keyHash(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
