import type { Page } from 'playwright-core';
import type { BrowserPage } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { browserFailure } from './browser-failure.js';
import type { ProtocolTransport } from './browser-pipe.js';

/** A browser that can be told what to do. */
export interface BrowserConnection {
  /** A page in a context of its own: no cookies, no storage, no credentials but those of its exit. */
  openPage(options: PageOptions): Promise<OpenPage>;
}

export interface PageOptions {
  /** The one way out, and who goes it. */
  exit: { server: string; bypass: string; username: string; password: string };
  /** BCP 47. */
  locale: string;
  /** Throws where the page must not be sent to. */
  checkUrl(url: URL): void;
}

export interface OpenPage {
  readonly page: BrowserPage;
  /** Rejects with `upstream_error` when the page crashes, or the browser with it. Never resolves. */
  readonly lost: Promise<never>;
  /** Ends the page and whatever it opened. */
  close(): Promise<void>;
}

const VIEWPORT = { width: 1366, height: 768 } as const;

/**
 * Loads playwright-core, the only place that does, and has it speak to a browser.
 * @throws Error where the browser does not answer in time.
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
        // The deadline of the visit is the only clock.
        context.setDefaultTimeout(0);
        const page = await context.newPage();
        context.on('page', (opened) => void opened.close().catch(() => {}));
        const lost = new Promise<never>((_resolve, reject) => {
          const lose = (what: string) => () => reject(new GatewayError('upstream_error', `The ${what} broke down.`));
          page.once('crash', lose('page'));
          browser.once('disconnected', lose('browser'));
        });
        // Whoever waits for it hears of it; nobody has to.
        lost.catch(() => {});
        return { page: faceOf(page, checkUrl), lost, close: () => context.close() };
      } catch (error) {
        await context.close();
        throw error;
      }
    },
  };
}

/** What a plugin gets of the page: no way to the context, the browser or its files. */
function faceOf(page: Omit<BrowserPage, 'goto'> & Pick<Page, 'goto'>, checkUrl: PageOptions['checkUrl']): BrowserPage {
  const met = (error: unknown) => {
    throw browserFailure(error);
  };
  return {
    async goto(url, options) {
      const target = URL.parse(url);
      if (!target)
        throw new GatewayError('upstream_refused', 'What was to be opened is not a URL.', { retryable: false });
      checkUrl(target);
      const response = await page.goto(target.href, options).catch(met);
      // Chrome shows a page of its own for a refusal without a body, and fails; the headless shell shows an empty page.
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

/** What the same version says of itself with a window. */
function ordinary(userAgent: string): string {
  return userAgent.replace(/HeadlessChrome\/(\d+)[\d.]*/, 'Chrome/$1.0.0.0');
}
