/*
 * Follows a short link of the shop to its product, within the hosts of the shop and its site. A redirect to any other
 * host fails.
 */

import { acceptLanguage, type HttpClient, type ResolveCall, resolveShortLink } from 'mediagate/plugin';
import { isShopAddress, matchProduct } from './links.js';
import type { SiteConfig } from './site.js';

/**
 * Resolves a short link of the shop by its redirects, which never leave the hosts of the shop and its site.
 * @throws GatewayError as the `resolveShortLink` of core.
 */
export function resolveProductLink(
  { http, userAgent }: { http: HttpClient; userAgent: SiteConfig['userAgent'] },
  { link, signal }: ResolveCall,
): Promise<URL> {
  return resolveShortLink({
    http,
    link,
    match: matchProduct,
    isOwn: isShopAddress,
    headers: { 'user-agent': userAgent, accept: 'text/html,*/*;q=0.8', 'accept-language': acceptLanguage('en') },
    signal,
  });
}
