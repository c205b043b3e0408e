import {
  GatewayError,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  loadSiteConfig,
  retryAfterSeconds,
  type SiteConfigOverride,
} from 'mediagate';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes from time to time, kept apart from the code that uses it. */
export type SiteConfig = typeof shipped;

/** The shipped values with an instance's own in place of theirs. @throws TypeError if they do not fit. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

/** How to present ourselves to the platform's own API. */
export type Client = SiteConfig['clients']['web'];

/** What an entry was set up with, as far as requests need it. */
export interface RequestSettings {
  http: HttpClient;
  siteConfig: SiteConfig;
  /** BCP 47 tag of the interface language. */
  language: string;
  /** ISO 3166-1 alpha-2 code of the market. */
  region: string;
  /** Key of the official API. */
  apiKey?: string;
}

type UrlName = keyof SiteConfig['urls'];

/** The few requests that the site is ever sent. Each throws a GatewayError where no usable answer came. */
export interface Requests {
  /** One reply of the API behind the site's own player and pages. */
  innertube(name: UrlName, client: Client, id: string, signal: AbortSignal): Promise<unknown>;
  /** The watch page, as text. */
  watchPage(id: string, signal: AbortSignal): Promise<string>;
  /** The parsed body, or the status where it is one of those given. */
  oembed(id: string, signal: AbortSignal): Promise<{ status: number; reply?: unknown }>;
  /** One list of the official API. */
  dataApi(name: 'videos' | 'channels', id: string, signal: AbortSignal): Promise<unknown>;
}

export function createRequests({ http, siteConfig, language, region, apiKey }: RequestSettings): Requests {
  const browser = {
    'user-agent': siteConfig.userAgent,
    'accept-language': language.startsWith('en') ? 'en-US,en;q=0.9' : `${language},en;q=0.8`,
    cookie: siteConfig.cookie,
  };
  const address = (name: UrlName, id: string) =>
    siteConfig.urls[name]
      .replaceAll('{id}', encodeURIComponent(id))
      .replaceAll('{language}', encodeURIComponent(language))
      .replaceAll('{region}', encodeURIComponent(region));

  async function json(request: HttpRequest): Promise<unknown> {
    const response = await http.request(request);
    refuseFailure(response);
    return response.json();
  }

  return {
    innertube(name, client, id, signal) {
      return json({
        url: address(name, id),
        method: 'POST',
        headers: {
          ...browser,
          'user-agent': client.userAgent,
          'content-type': 'application/json',
          origin: siteConfig.origin,
          'x-youtube-client-name': String(client.id),
          'x-youtube-client-version': client.version,
        },
        body: JSON.stringify({
          context: { client: { clientName: client.name, clientVersion: client.version, hl: language, gl: region } },
          videoId: id,
          contentCheckOk: true,
          racyCheckOk: true,
        }),
        signal,
      });
    },

    async watchPage(id, signal) {
      const headers = { ...browser, accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
      const response = await http.request({ url: address('watchPage', id), headers, signal });
      if (response.status >= 300 && response.status < 400) throw refusedRedirect(response, siteConfig);
      refuseFailure(response);
      return response.text();
    },

    async oembed(id, signal) {
      const response = await http.request({ url: address('oembed', id), headers: browser, signal });
      if (response.status === 404 || response.status === 400) return { status: response.status };
      refuseFailure(response);
      return { status: response.status, reply: response.json() };
    },

    dataApi(name, id, signal) {
      // A key in a header stays out of addresses, which are logged along the way.
      const headers = { accept: 'application/json', 'x-goog-api-key': apiKey ?? '' };
      return json({ url: address(name, id), headers, signal });
    },
  };
}

/** @throws GatewayError for every status but success. */
function refuseFailure(response: HttpResponse): void {
  const { status } = response;
  if (status >= 200 && status < 300) return;
  const details = { reason: `HTTP ${status}`, retryAfterSeconds: retryAfterSeconds(response) };
  if (status === 429) throw new GatewayError('upstream_rate_limited', 'The platform limits requests for now.', details);
  if (isQuotaSpent(response)) {
    throw new GatewayError('upstream_rate_limited', 'The quota of the official API is spent for now.', details);
  }
  const code = status >= 500 ? 'upstream_error' : 'upstream_refused';
  throw new GatewayError(code, 'The platform refused the request.', details);
}

function isQuotaSpent(response: HttpResponse): boolean {
  return response.status === 403 && /"reason":\s*"(?:quota|rateLimit|dailyLimit)\w*Exceeded"/i.test(response.text());
}

function refusedRedirect(response: HttpResponse, siteConfig: SiteConfig): GatewayError {
  const target = response.headers.location ?? '';
  const captcha = siteConfig.markers.captcha.some((mark) => target.includes(mark));
  const reason = captcha ? 'redirected to a captcha' : `HTTP ${response.status}`;
  return new GatewayError(captcha ? 'bot_check' : 'upstream_refused', 'The platform led the request elsewhere.', {
    reason,
  });
}
