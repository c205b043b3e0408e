/*
 * All requests for an item: page, embedded page, player API and oEmbed, and the redirects of short links. Redirects of
 * the page use only the path of their target, so that the host stays the platform's. A redirect to the login page or
 * the notice for closed regions is reported as a restriction, not as a final answer: another source may still show the
 * item. An empty page is a refusal. Cookies that the media hosts check are returned with the page and stored nowhere.
 */

import {
  acceptLanguage,
  cookieHeader,
  type Failure,
  fillUrl,
  followRedirects,
  GatewayError,
  type HttpClient,
  type HttpResponse,
  loadSiteConfig,
  matchAddress,
  navigationHeaders,
  type ResolveCall,
  readCookies,
  requireSuccess,
  resolveShortLink,
  type SiteConfigOverride,
} from 'mediagate/plugin';
import { canonicalUrl, isShop, itemIdIn, matchClip } from './links.js';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes now and then: addresses, markers, status codes, phrases. */
export type SiteConfig = typeof shipped;

/** The shipped configuration with a plugin instance's own values. @throws TypeError if they do not fit. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

/** A page, and what a later fetch of its media must share with this visit. */
interface PageReply {
  html: string;
  /** A `cookie` header; absent if the platform set none of those that its media hosts check. */
  cookie: string | undefined;
}

/**
 * The outcome of a page that leads elsewhere instead of to the item. Other methods may still show the item; if none does,
 * the cause is the reason.
 */
export function restricted(
  code: 'login_required' | 'geo_blocked' | 'age_restricted' | 'upstream_error',
  reason: string,
): Extract<Failure, { kind: 'transient' }> {
  const cause = new GatewayError(code, 'The platform does not show the item.', { reason });
  return { kind: 'transient', code: 'upstream_refused', reason, cause };
}

export interface RequestOptions {
  http: HttpClient;
  siteConfig: SiteConfig;
  /** BCP 47 tag of the interface language. */
  language: string;
}

/** The requests that are ever sent for an item. Each throws a GatewayError if no usable reply came. */
export function createRequests({ http, siteConfig, language }: RequestOptions) {
  const { urls, origin, userAgent } = siteConfig;
  const browser = { 'user-agent': userAgent, 'accept-language': acceptLanguage(language) };
  const html = navigationHeaders(userAgent, browser['accept-language']);
  const get = (
    name: keyof SiteConfig['urls'],
    id: string,
    signal: AbortSignal,
    headers: Record<string, string> = browser,
  ) => http.request({ url: fillUrl(urls[name], { id }), headers, signal });

  return {
    async page(id: string, signal: AbortSignal): Promise<PageReply | Failure> {
      const end = await followRedirects<Failure>(http, {
        url: fillUrl(urls.page, { id }),
        headers: html,
        signal,
        maxRedirects: 2,
        onRedirect(target, response) {
          if (isLogin(target, siteConfig)) {
            return { stop: restricted('login_required', 'the page leads to the login page') };
          }
          if (isClosedRegion(target, siteConfig)) {
            return { stop: restricted('geo_blocked', 'the page leads to a notice for regions without the service') };
          }
          if (itemIdIn(target) !== id) requireSuccess(response);
          // Only the path of the target is used: the host stays the platform's own.
          return new URL(`${origin}${target.pathname}`);
        },
      });
      return 'stop' in end ? end.stop : readPage(end.response, siteConfig);
    },

    async embed(id: string, signal: AbortSignal): Promise<PageReply> {
      return readPage(await get('embed', id, signal, html), siteConfig);
    },

    async player(id: string, signal: AbortSignal): Promise<unknown> {
      return requireSuccess(await get('player', id, signal)).json();
    },

    /** @throws GatewayError `removed` if the platform knows no such item. */
    async oembed(id: string, signal: AbortSignal): Promise<unknown> {
      return requireSuccess(await get('oembed', id, signal), { 404: 'removed' }).json();
    },
  };
}

function readPage(response: HttpResponse, { markers, mediaCookies }: SiteConfig): PageReply {
  const html = response.text();
  const isChallenge =
    response.status === 403 && [...markers.challenge, ...markers.captcha].some((mark) => html.includes(mark));
  requireSuccess(response, isChallenge ? { 403: 'bot_check' } : {});
  if (html.trim() === '') {
    throw new GatewayError('upstream_refused', 'The platform sent an empty page.', { reason: 'empty answer' });
  }
  return { html, cookie: cookieHeader(readCookies(response, mediaCookies)) };
}

function isLogin({ pathname }: URL, { markers }: SiteConfig): boolean {
  return markers.login.some((path) => pathname.startsWith(path));
}

function isClosedRegion({ pathname }: URL, { markers }: SiteConfig): boolean {
  return markers.closedRegion.some((path) => pathname.endsWith(path));
}

/**
 * Resolves a short link to an item, a product, or another page of the platform.
 * @throws GatewayError as the `resolveShortLink` of core.
 */
export async function resolveClipLink(
  { http, siteConfig }: Omit<RequestOptions, 'language'>,
  { link, signal }: ResolveCall,
): Promise<URL> {
  const end = await resolveShortLink({
    http,
    link,
    match: matchClip,
    isOwn: (url) => isShop(url) || matchClip(url) !== undefined,
    isItem: (url) => isShop(url) || itemIdIn(url) !== undefined || matchAddress(matchClip, url)?.kind === 'video',
    headers: navigationHeaders(siteConfig.userAgent, acceptLanguage('en')),
    login: { isPage: (url) => isLogin(url, siteConfig), parameter: 'redirect_url' },
    refusal: (url) =>
      isClosedRegion(url, siteConfig)
        ? new GatewayError('short_link_dead', 'The short link does not work.', {
            reason: 'it leads to a page that says nothing was found',
          })
        : undefined,
    signal,
  });
  // Some redirects omit the author's name, without which a link names no item.
  const id = isShop(end) || matchAddress(matchClip, end) ? undefined : itemIdIn(end);
  return id ? new URL(canonicalUrl(id)) : end;
}
