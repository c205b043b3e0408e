import {
  GatewayError,
  type HttpClient,
  type HttpResponse,
  loadSiteConfig,
  type ResolveCall,
  retryAfterSeconds,
  type SiteConfigOverride,
  walkShortLink,
} from 'mediagate';
import { canonicalUrl, itemIdIn, matchClip } from './links.js';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes from time to time, kept apart from the code that uses it. */
export type SiteConfig = typeof shipped;

/** The shipped siteConfig with an entry's own in place of theirs. @throws TypeError where they do not fit. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

/** A page, and what a later fetch of its media must share with this visit. */
export interface PageReply {
  html: string;
  /** A `cookie` header; absent where the site set none that matter. */
  cookie?: string;
}

/** What the site put in the place of the item: where no other method leads to the item, this is the reason. */
export interface Restriction {
  restriction: 'login_required' | 'geo_blocked' | 'age_restricted' | 'upstream_error';
  reason: string;
}

/** The few requests that the site is ever sent. Each throws a GatewayError where no usable answer came. */
export interface Requests {
  page(id: string, signal: AbortSignal): Promise<PageReply | Restriction>;
  embed(id: string, signal: AbortSignal): Promise<PageReply>;
  player(id: string, signal: AbortSignal): Promise<unknown>;
  /** The parsed body, or undefined where the site answers that it has none (404). */
  oembed(id: string, signal: AbortSignal): Promise<unknown>;
}

export interface RequestSettings {
  http: HttpClient;
  siteConfig: SiteConfig;
  /** BCP 47 tag of the interface language. */
  language: string;
}

/** The address with a name in it, or without: at most these hops. */
const MAX_MOVES = 2;

export function createRequests({ http, siteConfig, language }: RequestSettings): Requests {
  const browser = {
    'user-agent': siteConfig.userAgent,
    'accept-language': language.startsWith('en') ? 'en-US,en;q=0.9' : `${language},en;q=0.8`,
  };
  const html = { ...browser, accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
  const address = (name: keyof SiteConfig['urls'], id: string) =>
    siteConfig.urls[name].replaceAll('{id}', encodeURIComponent(id));

  return {
    async page(id, signal) {
      let url = address('page', id);
      for (let moves = 0; ; moves += 1) {
        const response = await http.request({ url, headers: html, signal });
        if (response.status < 300 || response.status >= 400) return readPage(response, siteConfig);
        const target = URL.parse(response.headers.location ?? '', url);
        const restriction = target && restrictionOf(target, siteConfig);
        if (restriction) return restriction;
        if (!target || moves === MAX_MOVES || !isSameItem(target, id)) throw redirectedElsewhere(response.status);
        // Of the address only the path is taken, so that the host stays ours.
        url = `${siteConfig.origin}${target.pathname}`;
      }
    },

    async embed(id, signal) {
      return readPage(await http.request({ url: address('embed', id), headers: html, signal }), siteConfig);
    },

    async player(id, signal) {
      const response = await http.request({ url: address('player', id), headers: browser, signal });
      refuseFailure(response);
      return response.json();
    },

    async oembed(id, signal) {
      const response = await http.request({ url: address('oembed', id), headers: browser, signal });
      if (response.status === 404) return undefined;
      refuseFailure(response);
      return response.json();
    },
  };
}

function readPage(response: HttpResponse, siteConfig: SiteConfig): PageReply {
  const html = response.text();
  const { challenge, captcha } = siteConfig.markers;
  if (response.status === 403 && [...challenge, ...captcha].some((mark) => html.includes(mark))) {
    throw new GatewayError('bot_check', 'The platform asked for a check.', { reason: 'HTTP 403 with a challenge' });
  }
  refuseFailure(response);
  if (html.trim() === '') {
    throw new GatewayError('upstream_refused', 'The platform answered with nothing.', { reason: 'empty answer' });
  }
  return { html, cookie: cookiesOf(response.headers['set-cookie'], siteConfig.mediaCookies) };
}

function cookiesOf(fields: string | undefined, names: readonly string[]): string | undefined {
  const cookies = (fields ?? '').split('\n').flatMap((field) => {
    const [pair = ''] = field.split(';', 1);
    const name = pair.slice(0, pair.indexOf('=')).trim();
    return names.includes(name) ? [pair.trim()] : [];
  });
  return cookies.length > 0 ? cookies.join('; ') : undefined;
}

function restrictionOf(target: URL, { markers }: SiteConfig): Restriction | undefined {
  if (markers.login.some((path) => target.pathname.startsWith(path))) {
    return { restriction: 'login_required', reason: 'the page leads to the login page' };
  }
  if (markers.closedRegion.some((path) => target.pathname.endsWith(path))) {
    return { restriction: 'geo_blocked', reason: 'the page leads to a notice for regions without the service' };
  }
  return undefined;
}

function isSameItem(target: URL, id: string): boolean {
  return itemIdIn(target) === id;
}

function redirectedElsewhere(status: number): GatewayError {
  return new GatewayError('upstream_refused', 'The platform led the request elsewhere.', { reason: `HTTP ${status}` });
}

/** @throws GatewayError for every status but success. */
function refuseFailure(response: HttpResponse): void {
  const { status } = response;
  if (status >= 200 && status < 300) return;
  const details = { reason: `HTTP ${status}`, retryAfterSeconds: retryAfterSeconds(response) };
  if (status === 429) throw new GatewayError('upstream_rate_limited', 'The platform limits requests for now.', details);
  const code = status >= 500 ? 'upstream_error' : 'upstream_refused';
  throw new GatewayError(code, 'The platform refused the request.', details);
}

/** Shop addresses: what they lead to is the shop extractor's to say. */
const SHOP_HOSTS: ReadonlySet<string> = new Set(['shop.tiktok.com']);
const SITE_HOSTS: ReadonlySet<string> = new Set(['www.tiktok.com', 'tiktok.com', 'm.tiktok.com']);
const SHOP_PATH = /^\/(?:shop|view|oec)(?:\/|$)/;

export interface ShortLinkSettings {
  http: HttpClient;
  siteConfig: SiteConfig;
}

/**
 * Where a short link leads: an item, a product, or something else of the site that every extractor will refuse.
 * @throws GatewayError `short_link_dead`, `login_required`, or what `walkShortLink` throws.
 */
export async function resolveShortLink(
  { http, siteConfig }: ShortLinkSettings,
  { link, signal }: ResolveCall,
): Promise<URL> {
  const end = await walkShortLink({
    http,
    url: link.url,
    mayAsk: (url) => isShop(url) || kindOf(url) !== 'foreign',
    isDestination: (url) => isShop(url) || !['foreign', 'short_link'].includes(kindOf(url)),
    headers: { 'user-agent': siteConfig.userAgent, accept: 'text/html,*/*;q=0.8', 'accept-language': 'en-US,en;q=0.9' },
    signal,
  });
  if (isShop(end) || kindOf(end) === 'item') return end;
  // Some redirects leave the author's name empty.
  const id = itemIdIn(end);
  if (id) return new URL(canonicalUrl(id));
  if (kindOf(end) === 'short_link') {
    throw new GatewayError('upstream_refused', 'The platform does not say where the short link leads.');
  }
  if (siteConfig.markers.login.some((path) => end.pathname.startsWith(path))) return behindLogin(end);
  const lost = siteConfig.markers.closedRegion.some((path) => end.pathname.endsWith(path));
  if (end.pathname === '/' || lost) {
    const reason = lost ? 'it leads to a page that says nothing was found' : 'it leads to the home page';
    throw new GatewayError('short_link_dead', 'The short link leads nowhere.', { reason });
  }
  return end;
}

/** A login page names the address that it stands before. */
function behindLogin(login: URL): URL {
  const target = URL.parse(login.searchParams.get('redirect_url') ?? '', login);
  if (target && (isShop(target) || kindOf(target) === 'item')) return target;
  throw new GatewayError('login_required', 'The short link leads to something that is shown to signed-in users only.');
}

function isShop(url: URL): boolean {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return false;
  return SHOP_HOSTS.has(url.hostname) || (SITE_HOSTS.has(url.hostname) && SHOP_PATH.test(url.pathname));
}

function kindOf(url: URL): 'item' | 'short_link' | 'other' | 'foreign' {
  const match = matchClip(url);
  if (!match) return 'foreign';
  if ('unsupported' in match) return 'other';
  return match.kind === 'short_link' ? 'short_link' : 'item';
}
