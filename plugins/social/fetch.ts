import {
  GatewayError,
  type HttpClient,
  type HttpResponse,
  type LinkRef,
  matchedLink,
  retryAfterSeconds,
  walkShortLink,
} from 'mediagate';
import { isOwnHost, itemAt, matchItem } from './links.js';
import { addressOfStory, leadsIn, takeApart } from './read/parts.js';
import type { SiteConfig } from './read/state.js';
import { readPageState, stateOfAddress, stateOfRest } from './read/state.js';

const MAX_HOPS = 3;

export interface RequestSettings {
  http: HttpClient;
  siteConfig: SiteConfig;
  /** BCP 47 tag of the interface language. */
  language: string;
}

/** What the site answered with: where the answer lay in the end, and the page, empty where it led to no page. */
export interface PageAnswer {
  status: number;
  url: URL;
  html: string;
}

/** The few requests that the site is ever sent. Each throws a GatewayError where no answer of the site's came. */
export interface Requests {
  /** Sent with every request, as a browser would that opens the address. */
  readonly headers: Readonly<Record<string, string>>;
  /** A page of the item; redirects are followed within the site, but not to a login form or a check. */
  page(address: string, signal: AbortSignal): Promise<PageAnswer>;
  /** The page that other sites embed, of the kind that fits the item. */
  plugin(link: LinkRef, signal: AbortSignal): Promise<PageAnswer>;
}

export function createRequests({ http, siteConfig, language }: RequestSettings): Requests {
  const headers = {
    'user-agent': siteConfig.userAgent,
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': language.startsWith('en') ? `${language},en;q=0.9` : `${language},en;q=0.8`,
    // Without these the site serves a shell that holds no data.
    'sec-fetch-dest': 'document',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-site': 'none',
    'sec-fetch-user': '?1',
    'upgrade-insecure-requests': '1',
  };

  async function page(address: string, signal: AbortSignal): Promise<PageAnswer> {
    let url = new URL(address);
    for (let hops = 0; hops <= MAX_HOPS; hops += 1) {
      const response = await http.request({ url, headers, signal });
      const next = redirectOf(response, url);
      if (!next) return { status: response.status, url, html: checked(response, siteConfig).text() };
      // Where it leads says enough; a form or a check need not be fetched.
      if (!isOwnHost(next) || isDeadEnd(next, siteConfig)) return { status: response.status, url: next, html: '' };
      url = next;
      url.protocol = 'https:';
    }
    throw new GatewayError('upstream_refused', 'The platform redirects the request without end.', {
      reason: 'too many redirects',
    });
  }

  return {
    headers,
    page,
    plugin(link, signal) {
      const template = link.kind === 'post' ? siteConfig.urls.pluginPost : siteConfig.urls.pluginVideo;
      return page(template.replace('{href}', encodeURIComponent(link.url)), signal);
    },
  };
}

function redirectOf({ status, headers }: HttpResponse, url: URL): URL | undefined {
  if (status < 300 || status >= 400 || !headers.location) return undefined;
  return URL.parse(headers.location, url) ?? undefined;
}

/** Whether an address is a login form, a check or a consent form, or no page of an item at all. */
export function isDeadEnd(url: URL, siteConfig: SiteConfig): boolean {
  const { login, checkpoint, consent } = siteConfig.paths;
  const path = url.pathname.toLowerCase();
  const isFeed = /^\/watch\/?$/.test(path) && !url.searchParams.has('v');
  return path === '/' || isFeed || [...login, ...checkpoint, ...consent].some((start) => path.startsWith(start));
}

/** @throws GatewayError for failures that say nothing of the item; 404 and 410 do, and are left to the reader. */
function checked(response: HttpResponse, siteConfig: SiteConfig): HttpResponse {
  const { status } = response;
  if ((status >= 200 && status < 300) || status === 404 || status === 410) return response;
  const reason = `HTTP ${status}`;
  if (status === 429) {
    throw new GatewayError('upstream_rate_limited', 'The platform limits requests for now.', {
      reason,
      retryAfterSeconds: retryAfterSeconds(response),
    });
  }
  if (status >= 500) throw new GatewayError('upstream_error', 'The platform failed to answer.', { reason });
  const challenged = siteConfig.markers.challenge.some((mark) => response.text().includes(mark));
  throw new GatewayError(challenged ? 'bot_check' : 'upstream_refused', 'The platform refused the request.', {
    reason: challenged ? 'a check of the client in place of the page' : reason,
  });
}

export interface ShortLinkSettings {
  http: HttpClient;
  requests: Requests;
  siteConfig: SiteConfig;
}

/**
 * Where a share link leads. Most redirect; since 2026 some are answered with a page instead, which names the address of the
 * item in its tags.
 * @throws GatewayError `short_link_dead`, `redirected_to_unsupported`, `login_required`, `unavailable`, or an upstream failure.
 */
export async function resolveShortLink(
  link: LinkRef,
  { http, requests, siteConfig }: ShortLinkSettings,
  signal: AbortSignal,
): Promise<URL> {
  const end = await walkShortLink({
    http,
    url: link.url,
    headers: requests.headers,
    signal,
    mayAsk: (url) => isOwnHost(url) && !isDeadEnd(url, siteConfig),
    isDestination: (url) => isOwnHost(url) && (isDeadEnd(url, siteConfig) || !isShort(url)),
  });
  if (!isShort(end)) return destination(end, siteConfig);
  const answer = await requests.page(end.href, signal);
  if (!isShort(answer.url)) return destination(answer.url, siteConfig);
  const parts = takeApart(answer.html);
  const tags = parts.tags();
  const addresses = [tags.address, tags.canonical, ...leadsIn(answer.html), addressOfStory(parts.route())];
  const named = addresses.map((address) => itemAt(address)).find((item) => item !== undefined);
  if (named) return new URL(named.url);
  const state = readPageState(answer, parts, siteConfig);
  if (state.kind !== 'open')
    throw new GatewayError(state.code, 'The share link does not show its item.', { reason: state.reason });
  const page = [tags.address, tags.canonical].map((address) => address && URL.parse(address)).find(Boolean);
  if (page && isOwnHost(page)) return page;
  const rest = stateOfRest(parts, siteConfig);
  if (rest && rest.kind !== 'open')
    throw new GatewayError(rest.code, 'The share link does not show its item.', { reason: rest.reason });
  throw new GatewayError('upstream_changed', 'The page of the share link could not be understood.', {
    reason: 'it names no item',
  });
}

/** A login form often says what it stands before; then that is asked for itself. */
function destination(url: URL, siteConfig: SiteConfig): URL {
  const item = matched(url);
  if (item) return new URL(item.url);
  if (url.pathname === '/') {
    throw new GatewayError('short_link_dead', 'The share link leads nowhere.', {
      reason: 'redirected to the home page',
    });
  }
  const state = isDeadEnd(url, siteConfig) ? stateOfAddress(url, siteConfig) : undefined;
  if (state && state.kind !== 'open') {
    throw new GatewayError(state.code, 'The share link does not show its item.', { reason: state.reason });
  }
  return url;
}

function isShort(url: URL): boolean {
  return matched(url)?.kind === 'short_link';
}

function matched(url: URL): LinkRef | undefined {
  return matchedLink(matchItem(url));
}
