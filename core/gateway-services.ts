import type { Browser, HttpClient, Logger } from './contracts/index.js';
import type { GatewayOptions, HttpClientLimits } from './gateway.js';
import type { BrowserFaces, HttpFaces } from './plugins/index.js';
import { absentBrowser, GatewayError } from './runtime/index.js';

/** Something to be closed with the gateway. */
interface Owned {
  close(): Promise<void>;
}

/** The way out over HTTP, for all entries: the embedder's own, else the gateway's. */
export async function openHttp(options: GatewayOptions): Promise<HttpFaces & Owned> {
  return options.services?.http ? facesOf(options.services.http) : openTransport(options);
}

/** The browser, likewise. */
export async function openBrowser(options: GatewayOptions, logger: Logger): Promise<BrowserFaces & Owned> {
  return options.services?.browser ? browserFacesOf(options.services.browser) : openBrowserService(options, logger);
}

/** An embedder's own client carries its own limits. */
function facesOf(client: HttpClient): HttpFaces & Owned {
  return { face: () => client, close: async () => {} };
}

/** An embedder's own browser is still bound by the entry's deadline and end. */
function browserFacesOf(browser: Browser): BrowserFaces & Owned {
  return {
    get available() {
      return browser.available;
    },
    face: ({ timeoutMs, signal }) => ({
      get available() {
        return browser.available;
      },
      run: (call) =>
        browser.run({
          ...call,
          signal: call.signal ? AbortSignal.any([call.signal, signal]) : signal,
          timeoutMs: Math.min(call.timeoutMs ?? timeoutMs, timeoutMs),
        }),
    }),
    close: async () => {},
  };
}

async function openBrowserService(options: GatewayOptions, logger: Logger): Promise<BrowserFaces & Owned> {
  if (!options.browser) return browserFacesOf(absentBrowser);
  const [{ createBrowserService }, { createAddressGuard }] = await Promise.all([
    import('./browser/browser.js'),
    import('./net/address-guard.js'),
  ]);
  return createBrowserService({
    ...options.browser,
    guard: createAddressGuard({ trustedOrigins: options.trustedOrigins }),
    egressProxyUrl: options.egressProxyUrl,
    logger,
  });
}

/** A guarded way out of its own, for what is not to reach where plugins may, or goes on after a gateway has closed. */
export async function openHttpClient(
  limits: HttpClientLimits & Pick<GatewayOptions, 'egressProxyUrl'>,
): Promise<Owned & { client: HttpClient }> {
  const { timeoutMs, trustedOrigins = [], egressProxyUrl } = limits;
  const transport = await openTransport({ egressProxyUrl });
  const closing = new AbortController();
  return {
    client: transport.face({ timeoutMs, trustedOrigins, signal: closing.signal }),
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await transport.close();
    },
  };
}

async function openTransport(
  options: Pick<GatewayOptions, 'trustedOrigins' | 'egressProxyUrl'>,
): Promise<HttpFaces & Owned> {
  const [{ createHttpTransport }, { createAddressGuard }] = await Promise.all([
    import('./net/http-client.js'),
    import('./net/address-guard.js'),
  ]);
  return createHttpTransport({
    guard: createAddressGuard({ trustedOrigins: options.trustedOrigins }),
    egressProxyUrl: options.egressProxyUrl,
  });
}
