/*
 * Starts browsers in a temporary folder that belongs to one run, and removes folders of gateways that were killed. The
 * arguments take away every way around the filtering proxy: name resolution, QUIC, WebRTC sockets, the browser's own
 * requests to its vendor. The sandbox is left out only if the system offers none or the gateway runs as root, with a
 * warning. Behind an operator's proxy, its additional certificate authorities are accepted by their keys. A start that
 * takes more than 20 seconds fails with the browser's last output.
 */

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
  /** The operator's proxy may intercept TLS, with a certificate authority that this process trusts. */
  behindEgressProxy: boolean;
  logger: Logger;
}

/** A browser with its processes and its folder. */
export interface RunningBrowser extends BrowserConnection {
  /** Id of its first process. */
  readonly pid: number;
  /** False as soon as it is known to end. */
  readonly alive: boolean;
  /** Resolves when nothing of it is left. Never rejects. */
  readonly ended: Promise<void>;
  /** Kills it at once. Idempotent. */
  kill(): Promise<void>;
}

const START_MS = 20_000;
const NO_SANDBOX = /No usable sandbox/;

/** Starts browsers. */
export class Launcher {
  readonly #logger: Logger;
  readonly #authorities: string[];
  // Chromium refuses to start as root with its sandbox.
  #sandbox = process.getuid?.() !== 0;

  constructor({ behindEgressProxy, logger }: LauncherOptions) {
    this.#logger = logger;
    this.#authorities = behindEgressProxy ? getCACertificates('extra') : [];
    if (!this.#sandbox) logger.warn('the browser has no sandbox, since the gateway runs as root');
  }

  /** @throws Error with the last output of the browser if it does not start. */
  async launch(executable: BrowserExecutable, proxyPort: number): Promise<RunningBrowser> {
    try {
      return await this.#start(executable, proxyPort);
    } catch (error) {
      if (!this.#sandbox || !(error instanceof Error && NO_SANDBOX.test(error.message))) throw error;
      this.#sandbox = false;
      this.#logger.warn('the browser has no sandbox, since this system offers none', { error });
      return this.#start(executable, proxyPort);
    }
  }

  async #start(executable: BrowserExecutable, proxyPort: number): Promise<RunningBrowser> {
    const profile = await createProfile();
    const starting = startBrowserProcess(executable, {
      arguments: browserArguments({ profile, proxyPort, sandbox: this.#sandbox, authorities: this.#authorities }),
      profile,
    });
    const ended = starting
      .then((browser) => browser.ended)
      .catch(() => {})
      .then(() => removeProfile(profile))
      .catch((error: unknown) => this.#logger.warn("a browser's folder could not be removed", { error }));
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
}

function connect(browser: BrowserProcess, profile: string): Promise<BrowserConnection> {
  const { input, output } = browser;
  const transport = createPipeTransport({ input, output, onBroken: () => void browser.kill() });
  const connected = Promise.race([
    connectBrowser(transport, { artifactsDir: profile, timeoutMs: START_MS }),
    browser.ended.then((words) => Promise.reject(new Error(words))),
  ]);
  const error = () => new GatewayError('upstream_timeout', 'The browser did not start in time.');
  return withDeadline(START_MS, () => connected, { error });
}

/**
 * The name contains the process that created the folder, and its start, since a container gives each start the same id.
 * A folder without its process is abandoned.
 */
const FOLDER = /^mediagate-browser-(\d+)-/;
const OWN = `mediagate-browser-${process.pid}-${randomUUID().slice(0, 8)}-`;

/**
 * Requests that Chrome sends on behalf of the page, and that no argument disables. The headless shell ignores these
 * preferences.
 */
const PREFERENCES = {
  // After a failed connection it would look for the sign-in page of a public network, and open it.
  alternate_error_pages: { enabled: false },
  safebrowsing: { enabled: false },
  search: { suggest_enabled: false },
} as const;

/** Creates a folder for one run of a browser, in the system's temporary folder, for this user only. */
export async function createProfile(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), OWN));
  await mkdir(path.join(folder, 'Default'));
  await writeFile(path.join(folder, 'Default', 'Preferences'), JSON.stringify(PREFERENCES));
  return folder;
}

/** The browser's last writes may arrive while the folder is being emptied. */
export async function removeProfile(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/** Removes profiles of gateways that were killed. Best effort: the next start tries again. */
export async function removeLeftProfiles(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(FOLDER.exec(name)?.[1]);
    if (!Number.isSafeInteger(pid)) continue;
    if (pid === process.pid ? name.startsWith(OWN) : isProcessRunning(pid)) continue;
    const folder = path.join(tmpdir(), name);
    const { uid } = await lstat(folder).catch(() => ({ uid: -1 }));
    // The temporary folder is shared; folders of other users are not touched.
    if (uid === process.getuid?.()) await removeProfile(folder).catch(() => {});
  }
}

export interface BrowserArguments {
  /** Folder that the browser may write. */
  profile: string;
  /** Port of the filtering proxy on 127.0.0.1. */
  proxyPort: number;
  sandbox: boolean;
  /**
   * PEM certificates of additional trusted authorities. Chromium accepts every chain that contains the key, signed by
   * it or not: an attacker between here and the origin who knows the certificate is trusted as well.
   */
  authorities: readonly string[];
}

/** A name that only this browser resolves; see the resolver's rules below. */
const PROXY_HOST = 'exit.mediagate.invalid';
const HEAP_MIB = 512;

/** The proxy setting of every context. `<-loopback>` disables the browser's own exception for local addresses. */
export function exitOf(proxyPort: number): { server: string; bypass: string } {
  return { server: `http://${PROXY_HOST}:${proxyPort}`, bypass: '<-loopback>' };
}

/**
 * Disables everything that a page could use to bypass the proxy: name resolution, QUIC, WebRTC's own sockets, and the
 * browser's own requests.
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
    // The second restriction: only the proxy has an address, literals included. The first matching rule counts.
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
      // Chrome sends the structure of every form to its vendor.
      'AutofillServerCommunication',
      // Chrome tries https first for http URLs.
      'HttpsUpgrades',
      // Cast and DIAL look for devices by multicast.
      'MediaRouter',
      'DialMediaRouteProvider',
      'NetworkTimeServiceQuerying',
      'OptimizationHints',
      'PreconnectToSearch',
      'Translate',
    ].join(',')}`,

    // One page per visit; pages it opens are not shown.
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

/** The browser's name of a public key: base64 of the SHA-256 of its SubjectPublicKeyInfo. */
function keyHash(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
