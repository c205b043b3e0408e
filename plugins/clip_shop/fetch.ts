/*
 * Fetches a product's page under one of its URLs and says what the reply means. A redirect to another page is
 * transient, because one URL can be wrong while another works; a security check is reported as `bot_check`.
 */

import {
  fillUrl,
  followRedirects,
  type HttpResponse,
  type LinkRef,
  matchAddress,
  navigationHeaders,
  type PluginContext,
  readStatus,
} from 'mediagate/plugin';
import { matchProduct } from './links.js';
import type { ClipShopOptions } from './options.js';
import { outcomeOfPage, type ShopOutcome } from './read/page.js';
import type { SiteConfig } from './site.js';

/** The three URLs of a product's page. */
export type PageForm = 'shopPage' | 'wwwPage' | 'sharePage';

/** The URL of a product's page, made of its id and its market alone. */
export function pageUrl({ urls, defaultRegion }: SiteConfig, form: PageForm, { id, region }: LinkRef): string {
  if (form === 'shopPage' && region === 'ID') return fillUrl(urls.indonesianPage, { id });
  const regional = { shopPage: urls.shopPage, wwwPage: urls.wwwRegionPage, sharePage: urls.shareRegionPage };
  const market = region ?? defaultRegion;
  const values = { id, region: market.toLowerCase(), REGION: market.toUpperCase() };
  return fillUrl((region ? regional : urls)[form], values);
}

/** Fetches one form of a product's page with the headers of a browser's navigation. */
export function createPageFetch({ http, options }: PluginContext<ClipShopOptions>, siteConfig: SiteConfig) {
  const headers = navigationHeaders(siteConfig.userAgent, options.acceptLanguage);

  return async function fetchPage(form: PageForm, link: LinkRef, signal: AbortSignal): Promise<ShopOutcome> {
    const end = await followRedirects<ShopOutcome>(http, {
      url: pageUrl(siteConfig, form, link),
      headers,
      signal,
      timeoutMs: options.pageTimeoutMs,
      onRedirect(target) {
        const stop = outcomeOfRedirect(target, link.id, siteConfig);
        return stop ? { stop } : target;
      },
    });
    return 'stop' in end ? end.stop : outcomeOfResponse(end.response, link.id, siteConfig);
  };
}

export const REDIRECTS = {
  region: 'redirected: the region is not supported',
  login: 'redirected to the login page',
  home: 'redirected to the home page',
} as const;

/** The outcome of a redirect away from a product; undefined if it leads to the same product. */
export function outcomeOfRedirect(target: URL, id: string, { markers }: SiteConfig): ShopOutcome | undefined {
  const { pathname, hostname, protocol, search } = target;
  if (search.includes(markers.notInRegion)) return refused(REDIRECTS.region);
  if (/^\/(?:[a-z]{2}\/)?login(?:\/|$)/.test(pathname)) return refused(REDIRECTS.login);
  if (/captcha|\/verify/i.test(pathname))
    return { kind: 'transient', code: 'bot_check', reason: 'redirected to a security check' };
  if (matchAddress(matchProduct, target)?.id === id && protocol === 'https:') return undefined;
  const isHome = /(^|\.)tiktok\.com$/.test(hostname) && /^\/(?:shop\/?|[a-z]{2}\/?|foryou\/?)?$/.test(pathname);
  return refused(isHome ? REDIRECTS.home : `redirected to ${hostname}`);
}

function refused(reason: string): ShopOutcome {
  return { kind: 'transient', code: 'upstream_refused', reason };
}

function outcomeOfResponse(response: HttpResponse, id: string, siteConfig: SiteConfig): ShopOutcome {
  // One URL alone may be wrong, so the others are tried as well.
  const failure = readStatus(response, { 410: 'upstream_refused' });
  if (!failure) return outcomeOfPage(response.text(), id, siteConfig);
  if (failure.code !== 'upstream_refused') return failure;
  // A page that is sent with a status of refusal may state the reason.
  const outcome = outcomeOfPage(response.text(), id, siteConfig);
  const isReason = outcome.kind === 'definitive' || (outcome.kind === 'transient' && outcome.code === 'bot_check');
  return isReason ? outcome : failure;
}
