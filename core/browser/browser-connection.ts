/*
 * Connects playwright-core to a browser over two pipes and gives plugins a limited view of a page. The library is
 * loaded here only, at the first visit. A page has a context of its own, without cookies of others, downloads, service
 * workers or further windows. Every address that is opened is checked first. A message of the browser above 64 MiB
 * kills it, because a page decides how large messages are. Failures become errors without the URL that the browser's
 * own messages contain.
 */

import type { Readable, Writable } from 'node:stream';
import type { Page } from 'playwright-core';
import type { BrowserPage } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';

/** A browser controlled by playwright. */
export interface BrowserConnection {
  /** A page in a context of its own: no cookies, no storage, and only the credentials of its proxy. */
  openPage(options: PageOptions): Promise<OpenPage>;
}

export interface PageOptions {
  /** The proxy, and its credentials. */
  exit: { server: string; bypass: string; username: string; password: string };
  /** BCP 47. */
  locale: string;
  /** Throws if the page must not open the URL. */
  checkUrl(url: URL): void;
}

export interface OpenPage {
  readonly page: BrowserPage;
  /** Rejects with `upstream_error` when the page or the browser crashes. Never resolves. */
  readonly lost: Promise<never>;
  /** Closes the page and everything it opened. */
  close(): Promise<void>;
}

const VIEWPORT = { width: 1366, height: 768 } as const;

/**
 * Loads playwright-core, the only place that does, and connects it to a browser.
 * @throws Error if the browser does not answer in time.
 */
export async function connectBrowser(
  transport: ProtocolTransport,
  { artifactsDir, timeoutMs }: { artifactsDir: string; timeoutMs: number },
): Promise<BrowserConnection> {
  const { chromium } = await import('playwright-core');
  const browser = await chromium.connectOverCDP(transport, { artifactsDir, timeout: timeoutMs });
  const session = await browser.newBrowserCDPSession();
  const { userAgent } = await session.send('Browser.getVersion');
  await session.detach();

  return {
    async openPage({ exit, locale, checkUrl }) {
      const context = await browser.newContext({
        proxy: exit,
        locale,
        userAgent: ordinary(userAgent),
        viewport: VIEWPORT,
        acceptDownloads: false,
        serviceWorkers: 'block',
      });
      try {
        // Only the deadline of the visit applies.
        context.setDefaultTimeout(0);
        const page = await context.newPage();
        context.on('page', (opened) => void opened.close().catch(() => {}));
        const lost = new Promise<never>((_resolve, reject) => {
          const lose = (what: string) => () => reject(new GatewayError('upstream_error', `The ${what} broke down.`));
          page.once('crash', lose('page'));
          browser.once('disconnected', lose('browser'));
        });
        // The rejection is handled by waiting callers, if any.
        lost.catch(() => {});
        return { page: scopedPage(page, checkUrl), lost, close: () => context.close() };
      } catch (error) {
        await context.close();
        throw error;
      }
    },
  };
}

/** The plugin's view of the page: no access to the context, the browser or its files. */
function scopedPage(
  page: Omit<BrowserPage, 'goto'> & Pick<Page, 'goto'>,
  checkUrl: PageOptions['checkUrl'],
): BrowserPage {
  const met = (error: unknown) => {
    throw browserFailure(error);
  };
  return {
    async goto(url, options) {
      const target = URL.parse(url);
      if (!target)
        throw new GatewayError('upstream_refused', 'The address to open is not a URL.', { retryable: false });
      checkUrl(target);
      const response = await page.goto(target.href, options).catch(met);
      // Chrome shows an error page for a refusal without a body, and fails; the headless shell shows an empty page.
      if (response && response.status() >= 400 && response.headers()['content-length'] === '0') {
        throw new GatewayError('upstream_error', 'The page could not be loaded.');
      }
    },
    content: () => page.content().catch(met),
    url: () => page.url(),
    evaluate: (script, argument) => page.evaluate(script, argument).catch(met),
    waitForSelector: (selector, options) => page.waitForSelector(selector, options).catch(met),
  };
}

/** The user agent of the same version with a window. */
function ordinary(userAgent: string): string {
  return userAgent.replace(/HeadlessChrome\/(\d+)[\d.]*/, 'Chrome/$1.0.0.0');
}

/** The transport of playwright-core for the DevTools protocol. */
export interface ProtocolTransport {
  send(message: object): void;
  close(): void;
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
}

/** A page decides how large a message of the browser is; beyond this the browser is killed. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const NUL = 0;

export interface PipeEnds {
  input: Writable;
  output: Readable;
  /** Called if a message is too large or unreadable: the browser must then be killed. */
  onBroken(): void;
}

/** JSON messages over two pipes, each ended by a NUL, as `--remote-debugging-pipe` defines them. */
export function createPipeTransport({ input, output, onBroken }: PipeEnds): ProtocolTransport {
  let parts: Buffer[] = [];
  let length = 0;

  const transport: ProtocolTransport = {
    send(message) {
      if (!input.destroyed) input.write(`${JSON.stringify(message)}\0`);
    },
    close: () => input.end(),
  };
  const take = (part: Buffer) => {
    parts.push(part);
    length += part.length;
    if (length > MAX_MESSAGE_BYTES) throw new RangeError('the browser sent too many messages');
  };
  const read = (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(NUL); end !== -1; end = chunk.indexOf(NUL, start)) {
      take(chunk.subarray(start, end));
      const message: object = JSON.parse(Buffer.concat(parts).toString('utf8'));
      parts = [];
      length = 0;
      start = end + 1;
      transport.onmessage?.(message);
    }
    if (start < chunk.length) take(chunk.subarray(start));
  };
  output.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      // An error thrown here would end the gateway; a page may control its browser.
      parts = [];
      output.destroy();
      onBroken();
    }
  });
  output.once('close', () => transport.onclose?.());
  return transport;
}

/** First match wins. Messages of playwright-core, and Chromium's own names of network failures in them. */
const FAILURES: readonly (readonly [RegExp, 'upstream_error' | 'upstream_timeout', string])[] = [
  [/net::ERR_(?:TIMED_OUT|CONNECTION_TIMED_OUT)/, 'upstream_timeout', 'The origin did not answer in time.'],
  [/net::ERR_(?:TUNNEL_CONNECTION_FAILED|PROXY_)/, 'upstream_error', 'The server could not be reached.'],
  [/net::ERR_(?:CERT_|SSL_)/, 'upstream_error', 'The TLS connection to the origin failed.'],
  [/net::ERR_/, 'upstream_error', 'The page could not be loaded.'],
  [/has been closed|Target closed|crashed/i, 'upstream_error', 'The page was closed.'],
];

/**
 * A failure of a page with a message that is safe to show: the browser's message contains the URL. An error that is not
 * the browser's (in a script, say) stays unchanged.
 */
export function browserFailure(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'TimeoutError') {
    return new GatewayError('upstream_timeout', 'The page was not ready in time.', { cause: error });
  }
  const known = FAILURES.find(([message]) => message.test(error.message));
  return known ? new GatewayError(known[1], known[2], { cause: error }) : error;
}
