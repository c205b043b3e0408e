import {
  acceptLanguage,
  asString,
  at,
  fillUrl,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  loadSiteConfig,
  outcomeError,
  requireSuccess,
  type SiteConfigOverride,
  tryParseJson,
} from 'mediagate/plugin';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes from time to time, separate from the code. */
export type SiteConfig = typeof shipped;

/** The shipped values with an instance's own in place of theirs. @throws TypeError if they do not fit. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

/** The client that a request to the platform's internal API names. */
export type Client = SiteConfig['clients']['web'];

export type Requests = ReturnType<typeof createRequests>;

/**
 * The requests to the site, for an interface language (BCP 47), a market (ISO 3166-1 alpha-2), and with the key of the
 * official API. Each throws a GatewayError for a status other than success.
 */
export function createRequests(
  http: HttpClient,
  siteConfig: SiteConfig,
  { language, region, apiKey = '' }: { language: string; region: string; apiKey?: string },
) {
  const browser = {
    'user-agent': siteConfig.userAgent,
    'accept-language': acceptLanguage(language),
    cookie: siteConfig.cookie,
  };
  const urlOf = (name: keyof SiteConfig['urls'], id: string) =>
    fillUrl(siteConfig.urls[name], { id, language, region });

  async function json(request: HttpRequest): Promise<unknown> {
    const response = await http.request(request);
    const refusal = response.status === 403 ? tryParseJson(response.text()) : undefined;
    const reason = asString(at(refusal, 'error', 'errors', 0, 'reason')) ?? '';
    const isQuotaSpent = /^(?:quota|rateLimit|dailyLimit)\w{0,20}Exceeded$/i.test(reason);
    return requireSuccess(response, isQuotaSpent ? { 403: 'upstream_rate_limited' } : {}).json();
  }

  return {
    /** A reply of the internal API of the site's player and pages. */
    innertube(name: 'player' | 'microformat' | 'next', client: Client, id: string, signal: AbortSignal) {
      return json({
        url: urlOf(name, id),
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

    /** The HTML of the watch page. */
    async watchPage(id: string, signal: AbortSignal): Promise<string> {
      const headers = { ...browser, accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
      const response = await http.request({ url: urlOf('watchPage', id), headers, signal });
      if (siteConfig.markers.captcha.some((mark) => response.headers.location?.includes(mark))) {
        throw outcomeError({ kind: 'transient', code: 'bot_check', reason: 'redirected to a captcha' });
      }
      return requireSuccess(response).text();
    },

    /** The response, also for other statuses. */
    oembed(id: string, signal: AbortSignal): Promise<HttpResponse> {
      return http.request({ url: urlOf('oembed', id), headers: browser, signal });
    },

    /** A list of the official API. */
    dataApi(name: 'videos' | 'channels', id: string, signal: AbortSignal) {
      // URLs are logged by proxies, so the key is in a header.
      const headers = { accept: 'application/json', 'x-goog-api-key': apiKey };
      return json({ url: urlOf(name, id), headers, signal });
    },
  };
}
