import { GatewayError, type HttpClient, type ResolveCall, walkShortLink } from 'mediagate';
import type { Facts } from './facts.js';
import { canonicalUrl, itemIdIn, matchClip } from './links.js';

/** Shop addresses: what they lead to is the shop extractor's to say. */
const SHOP_HOSTS: ReadonlySet<string> = new Set(['shop.tiktok.com']);
const SITE_HOSTS: ReadonlySet<string> = new Set(['www.tiktok.com', 'tiktok.com', 'm.tiktok.com']);
const SHOP_PATH = /^\/(?:shop|view|oec)(?:\/|$)/;

export interface ShortLinkSettings {
  http: HttpClient;
  facts: Facts;
}

/**
 * Where a short link leads: an item, a product, or something else of the site that every extractor will refuse.
 * @throws GatewayError `short_link_dead`, `login_required`, or what `walkShortLink` throws.
 */
export async function resolveShortLink(
  { http, facts }: ShortLinkSettings,
  { link, signal }: ResolveCall,
): Promise<URL> {
  const end = await walkShortLink({
    http,
    url: link.url,
    mayAsk: (url) => isShop(url) || kindOf(url) !== 'foreign',
    isDestination: (url) => isShop(url) || !['foreign', 'short_link'].includes(kindOf(url)),
    headers: { 'user-agent': facts.userAgent, accept: 'text/html,*/*;q=0.8', 'accept-language': 'en-US,en;q=0.9' },
    signal,
  });
  if (isShop(end) || kindOf(end) === 'item') return end;
  // Some redirects leave the author's name empty.
  const id = itemIdIn(end);
  if (id) return new URL(canonicalUrl(id));
  if (kindOf(end) === 'short_link') {
    throw new GatewayError('upstream_refused', 'The platform does not say where the short link leads.');
  }
  if (facts.markers.login.some((path) => end.pathname.startsWith(path))) return behindLogin(end);
  const lost = facts.markers.closedRegion.some((path) => end.pathname.endsWith(path));
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
