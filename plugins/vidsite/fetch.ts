/*
 * All requests to YouTube: internal API, embedded player, watch page, oEmbed and the official API. The site gives each
 * visitor an id, in pages and replies; requests of all calls carry one until six hours have passed or the site refuses
 * it. The key of the official API is sent in a header, because proxies log URLs. A spent quota becomes
 * `upstream_rate_limited`. A redirect to a captcha fails as `bot_check` and is not followed. Every other status than
 * success is an error.
 */

import {
  acceptLanguage,
  asString,
  at,
  type Clock,
  fillUrl,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  loadSiteConfig,
  navigationHeaders,
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

/** The client that a request to the platform's internal API names, with the fields that this client sends. */
export interface Client {
  id: number;
  name: string;
  version: string;
  userAgent: string;
  /** Device and system. */
  fields: Readonly<Record<string, string>>;
}

export type Requests = ReturnType<typeof createRequests>;

/** Milliseconds for which a visitor id is used. */
const VISITOR_MS = 6 * 3_600_000;
const VISITOR_ID = /^[\w%=.-]{10,1000}$/;
const VISITOR_IN_PAGE = /"(?:VISITOR_DATA|visitorData)"\s*:\s*"([^"]{10,1000})"/;
const EMBED_FLAGS_IN_PAGE = /"encryptedHostFlags"\s*:\s*"([\w%=.-]{1,2000})"/;

/**
 * The requests to the site, for an interface language (BCP 47), a market (ISO 3166-1 alpha-2), and with the key of the
 * official API. Each throws a GatewayError for a status other than success.
 */
export function createRequests(
  http: HttpClient,
  siteConfig: SiteConfig,
  {
    language,
    region,
    apiKey = '',
    clock,
  }: { language: string; region: string; apiKey?: string | undefined; clock: Pick<Clock, 'monotonic'> },
) {
  const { userAgent, cookie } = siteConfig;
  const browser = { 'user-agent': userAgent, 'accept-language': acceptLanguage(language), cookie };
  const navigation = { ...navigationHeaders(userAgent, acceptLanguage(language)), cookie };
  const urlOf = (name: keyof SiteConfig['urls'], id: string) =>
    fillUrl(siteConfig.urls[name], { id, language, region });
  let visitor: { id: string; until: number } | undefined;

  const visitorId = () => (visitor && clock.monotonic() < visitor.until ? visitor.id : undefined);
  function keepVisitor(value: unknown): void {
    const id = asString(value);
    if (id === undefined || !VISITOR_ID.test(id) || visitorId() !== undefined) return;
    visitor = { id, until: clock.monotonic() + VISITOR_MS };
  }

  async function json(request: HttpRequest): Promise<unknown> {
    const response = await http.request(request);
    const refusal = response.status === 403 ? tryParseJson(response.text()) : undefined;
    const reason = asString(at(refusal, 'error', 'errors', 0, 'reason')) ?? '';
    const isQuotaSpent = /^(?:quota|rateLimit|dailyLimit)\w{0,20}Exceeded$/i.test(reason);
    return requireSuccess(response, isQuotaSpent ? { 403: 'upstream_rate_limited' } : {}).json();
  }

  async function page(
    name: 'watchPage' | 'embedPage',
    id: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ) {
    const response = await http.request({ url: urlOf(name, id), headers, signal });
    if (siteConfig.markers.captcha.some((mark) => response.headers.location?.includes(mark))) {
      throw outcomeError({ kind: 'transient', code: 'bot_check', reason: 'redirected to a captcha' });
    }
    const html = requireSuccess(response).text();
    keepVisitor(VISITOR_IN_PAGE.exec(html)?.[1]?.replace(/\\u003d/gi, '='));
    return html;
  }

  async function innertube(
    name: 'player' | 'microformat' | 'next',
    client: Client,
    id: string,
    signal: AbortSignal,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const visitorData = visitorId();
    const { context: moreContext, ...moreFields } = more;
    const { name: clientName, version: clientVersion, userAgent, fields } = client;
    const own = { clientName, clientVersion, ...fields, userAgent, hl: language, gl: region };
    const zone = { timeZone: 'UTC', utcOffsetMinutes: 0 };
    const reply = await json({
      url: urlOf(name, id),
      method: 'POST',
      headers: {
        ...browser,
        'user-agent': userAgent,
        'content-type': 'application/json',
        origin: siteConfig.origin,
        'x-youtube-client-name': String(client.id),
        'x-youtube-client-version': clientVersion,
        ...(visitorData !== undefined && { 'x-goog-visitor-id': visitorData }),
      },
      body: JSON.stringify({
        context: {
          client: { ...own, ...zone, ...(visitorData !== undefined && { visitorData }) },
          ...(moreContext as object | undefined),
        },
        ...moreFields,
        videoId: id,
        contentCheckOk: true,
        racyCheckOk: true,
      }),
      signal,
    });
    keepVisitor(at(reply, 'responseContext', 'visitorData'));
    return reply;
  }

  return {
    /** A reply of the internal API of the site's player and pages. */
    innertube: (name: 'player' | 'microformat' | 'next', client: Client, id: string, signal: AbortSignal) =>
      innertube(name, client, id, signal),

    /** The reply that the player of another site's page gets. */
    async embeddedPlayer(id: string, signal: AbortSignal): Promise<unknown> {
      const headers = {
        ...navigation,
        'sec-fetch-dest': 'iframe',
        'sec-fetch-site': 'cross-site',
        referer: siteConfig.embeddingSite,
      };
      const html = await page('embedPage', id, headers, signal);
      const flags = EMBED_FLAGS_IN_PAGE.exec(html)?.[1];
      return innertube('player', siteConfig.clients.embedded, id, signal, {
        context: { thirdParty: { embedUrl: siteConfig.embeddingSite } },
        ...(flags && { playbackContext: { contentPlaybackContext: { encryptedHostFlags: flags } } }),
      });
    },

    /** The id that the next request carries; undefined before the first reply. */
    visitorId,

    /** Forgets a visitor id that the site has refused, unless another one is in use by now. */
    dropVisitor(refused: string | undefined): void {
      if (visitor?.id === refused) visitor = undefined;
    },

    /** The HTML of the watch page. */
    watchPage: (id: string, signal: AbortSignal): Promise<string> => page('watchPage', id, navigation, signal),

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
