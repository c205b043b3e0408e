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

/** Milliseconds for which a visitor id is used. */
const VISITOR_MS = 6 * 3_600_000;
const VISITOR_ID = /^[\w%=.-]{10,1000}$/;
const VISITOR_IN_PAGE = /"(?:VISITOR_DATA|visitorData)"\s*:\s*"([^"]{10,1000})"/;
const EMBED_FLAGS_IN_PAGE = /"encryptedHostFlags"\s*:\s*"([\w%=.-]{1,2000})"/;

export interface RequestsOptions {
  /** Interface language (BCP 47). */
  language: string;
  /** Market (ISO 3166-1 alpha-2). */
  region: string;
  /** Of the official API. */
  apiKey?: string | undefined;
  clock: Pick<Clock, 'monotonic'>;
}

/** The requests to the site. Each throws a GatewayError for a status other than success. */
export class Requests {
  readonly #http: HttpClient;
  readonly #siteConfig: SiteConfig;
  readonly #options: RequestsOptions;
  readonly #browser: Record<string, string>;
  readonly #navigation: Record<string, string>;
  #visitor: { id: string; until: number } | undefined;

  constructor(http: HttpClient, siteConfig: SiteConfig, options: RequestsOptions) {
    const { userAgent, cookie } = siteConfig;
    const accepted = acceptLanguage(options.language);
    this.#http = http;
    this.#siteConfig = siteConfig;
    this.#options = options;
    this.#browser = { 'user-agent': userAgent, 'accept-language': accepted, cookie };
    this.#navigation = { ...navigationHeaders(userAgent, accepted), cookie };
  }

  /** The reply that the player of another site's page gets. */
  async embeddedPlayer(id: string, signal: AbortSignal): Promise<unknown> {
    const { embeddingSite, clients } = this.#siteConfig;
    const headers = {
      ...this.#navigation,
      'sec-fetch-dest': 'iframe',
      'sec-fetch-site': 'cross-site',
      referer: embeddingSite,
    };
    const html = await this.#page('embedPage', id, headers, signal);
    const flags = EMBED_FLAGS_IN_PAGE.exec(html)?.[1];
    return this.innertube('player', clients.embedded, id, signal, {
      context: { thirdParty: { embedUrl: embeddingSite } },
      ...(flags && { playbackContext: { contentPlaybackContext: { encryptedHostFlags: flags } } }),
    });
  }

  /** The HTML of the watch page. */
  watchPage(id: string, signal: AbortSignal): Promise<string> {
    return this.#page('watchPage', id, this.#navigation, signal);
  }

  /** The response, also for other statuses. */
  oembed(id: string, signal: AbortSignal): Promise<HttpResponse> {
    return this.#http.request({ url: this.#urlOf('oembed', id), headers: this.#browser, signal });
  }

  /** A list of the official API. */
  dataApi(name: 'videos' | 'channels', id: string, signal: AbortSignal): Promise<unknown> {
    // URLs are logged by proxies, so the key is in a header.
    const headers = { accept: 'application/json', 'x-goog-api-key': this.#options.apiKey ?? '' };
    return this.#json({ url: this.#urlOf(name, id), headers, signal });
  }

  /**
   * A reply of the internal API of the site's player and pages.
   * @param more Further fields of the request. Default: none.
   */
  async innertube(
    name: 'player' | 'microformat' | 'next',
    client: Client,
    id: string,
    signal: AbortSignal,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const { language, region } = this.#options;
    const visitorData = this.visitorId();
    const { context: moreContext, ...moreFields } = more;
    const { name: clientName, version: clientVersion, userAgent, fields } = client;
    const own = { clientName, clientVersion, ...fields, userAgent, hl: language, gl: region };
    const zone = { timeZone: 'UTC', utcOffsetMinutes: 0 };
    const reply = await this.#json({
      url: this.#urlOf(name, id),
      method: 'POST',
      headers: {
        ...this.#browser,
        'user-agent': userAgent,
        'content-type': 'application/json',
        origin: this.#siteConfig.origin,
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
    this.#keepVisitor(at(reply, 'responseContext', 'visitorData'));
    return reply;
  }

  /** The id that the next request carries; undefined before the first reply. */
  visitorId(): string | undefined {
    const visitor = this.#visitor;
    return visitor && this.#options.clock.monotonic() < visitor.until ? visitor.id : undefined;
  }

  /** Forgets a visitor id that the site has refused, unless another one is in use by now. */
  dropVisitor(refused: string | undefined): void {
    if (this.#visitor?.id === refused) this.#visitor = undefined;
  }

  #keepVisitor(value: unknown): void {
    const id = asString(value);
    if (id === undefined || !VISITOR_ID.test(id) || this.visitorId() !== undefined) return;
    this.#visitor = { id, until: this.#options.clock.monotonic() + VISITOR_MS };
  }

  #urlOf(name: keyof SiteConfig['urls'], id: string): string {
    const { language, region } = this.#options;
    return fillUrl(this.#siteConfig.urls[name], { id, language, region });
  }

  async #json(request: HttpRequest): Promise<unknown> {
    const response = await this.#http.request(request);
    const refusal = response.status === 403 ? tryParseJson(response.text()) : undefined;
    const reason = asString(at(refusal, 'error', 'errors', 0, 'reason')) ?? '';
    const isQuotaSpent = /^(?:quota|rateLimit|dailyLimit)\w{0,20}Exceeded$/i.test(reason);
    return requireSuccess(response, isQuotaSpent ? { 403: 'upstream_rate_limited' } : {}).json();
  }

  async #page(
    name: 'watchPage' | 'embedPage',
    id: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<string> {
    const response = await this.#http.request({ url: this.#urlOf(name, id), headers, signal });
    if (this.#siteConfig.markers.captcha.some((mark) => response.headers.location?.includes(mark))) {
      throw outcomeError({ kind: 'transient', code: 'bot_check', reason: 'redirected to a captcha' });
    }
    const html = requireSuccess(response).text();
    this.#keepVisitor(VISITOR_IN_PAGE.exec(html)?.[1]?.replace(/\\u003d/gi, '='));
    return html;
  }
}
