/*
 * Recognizes product links of TikTok Shop without a request. The market in a link is part of the product's address,
 * since price and stock differ by market; links to the default market get one address. Pages of sellers, shops and
 * categories are refused by name.
 */

import { isPlainUrl, kindOfPage, type LinkMatch, pathSegments } from 'mediagate/plugin';

/** Hosts where only some paths are the shop's; the others hold videos and profiles. */
const SITE_HOSTS: ReadonlySet<string> = new Set(['tiktok.com', 'www.tiktok.com', 'm.tiktok.com']);
/** The shop's own host: whatever stands there and is no product is refused by name. */
const SHOP_HOSTS: ReadonlySet<string> = new Set(['shop.tiktok.com', 'www.shop.tiktok.com', 'shop-id.tokopedia.com']);
/** Hosts of the shop that serve one market. */
const HOST_REGIONS: Readonly<Record<string, string>> = { 'shop-id.tokopedia.com': 'ID' };
/** Short links of the shop's own; those of the site are `clip_video`'s. */
const SHORT_HOST = 'vt.tokopedia.com';
const SHORT_CODE = /^[A-Za-z0-9_-]{5,24}$/;
/** Portals of sellers and of their advertisers, under names per market (`seller-us`, `affiliate.us` …). */
const PORTAL = /^(seller|affiliate|partner)(?:[-.][a-z]{2,12}){0,2}\.tiktok\.com$/;

/** Seen with 19 digits; older and newer ones may have a few less or more. */
const PRODUCT_ID = /^\d{15,21}$/;
/** The product's name may stand before its id. */
const ID_AT_END = /(?:^|-)(\d{15,21})$/;
const REGION = /^[a-z]{2}$/i;
/** Where a link names no market, the platform serves this one. */
const DEFAULT_REGION = 'US';

const KINDS: Readonly<Record<string, string>> = {
  store: "a shop's page",
  c: 'a category',
  s: 'a search',
  search: 'a search',
  cart: 'a cart',
  checkout: 'a checkout',
  order: 'an order',
  orders: 'a list of orders',
  deals: 'a list of deals',
  brand: 'a brand page',
  pdp: 'a product link without a product id',
  product: 'a product link without a product id',
};

/** Link forms that are accepted, for the capabilities list and the docs. */
export const LINK_FORMS = [
  'https://www.tiktok.com/shop/pdp/{name}/{id}',
  'https://www.tiktok.com/shop/pdp/{id}',
  'https://www.tiktok.com/shop/pdp/{name}-{id}',
  'https://www.tiktok.com/shop/{region}/pdp/{name}/{id}',
  'https://shop.tiktok.com/{region}/pdp/{name}/{id}',
  'https://shop.tiktok.com/pdp/{name}/{id}',
  'https://shop.tiktok.com/view/product/{id}',
  'https://www.tiktok.com/view/product/{id}',
  'https://m.tiktok.com/view/product/{id}',
  'https://shop-id.tokopedia.com/pdp/{name}/{id}',
  'https://shop-id.tokopedia.com/view/product/{id}',
  'https://vt.tokopedia.com/t/{code}',
] as const;

/**
 * The product behind a link with its one URL per market; undefined if the link is not the shop's. Price, stock and whether
 * there is a product at all differ by market, hence the `region` (upper case; absent for the default market).
 */
export function matchProduct(url: URL): LinkMatch {
  const { hostname } = url;
  if (!isPlainUrl(url)) return undefined;
  if (PORTAL.test(hostname)) return { unsupported: 'a page for sellers' };
  if (hostname === SHORT_HOST) return shortLink(pathSegments(url));
  const isShopHost = SHOP_HOSTS.has(hostname);
  if (!isShopHost && !SITE_HOSTS.has(hostname)) return undefined;
  const segments = pathSegments(url);
  const path = segments[0] === 'shop' ? segments.slice(1) : segments;
  const product = readPath(path);
  if (product) {
    const { id } = product;
    const region = regionOf(HOST_REGIONS[hostname] ?? product.region ?? url.searchParams.get('region'));
    if (!region) return { kind: 'product', id, url: `https://www.tiktok.com/shop/pdp/${id}` };
    return { kind: 'product', id, url: `https://shop.tiktok.com/${region.toLowerCase()}/pdp/${id}`, region };
  }
  if (!isShopHost && segments[0] !== 'shop' && !isView(path)) return undefined;
  return { unsupported: kindOf(path) };
}

/** Whether a URL is the shop's, product or not: no other host is asked for a short link. */
export function isShopAddress(url: URL): boolean {
  return matchProduct(url) !== undefined;
}

function shortLink([first = '', second]: readonly string[]): LinkMatch {
  const code = first === 't' && second ? second : first;
  if (!SHORT_CODE.test(code)) return { unsupported: 'a short link without a code' };
  return { kind: 'short_link', id: code, url: `https://${SHORT_HOST}/t/${code}/` };
}

function isView([first, second]: readonly string[]): boolean {
  return first === 'view' && second === 'product';
}

/** `[{region}/](pdp/[{name}/]|view/product/|product/){id}`. */
function readPath(path: readonly string[]): { id: string; region?: string } | undefined {
  const region = REGION.test(path[0] ?? '') ? path[0] : undefined;
  const rest = region ? path.slice(1) : path;
  const [form, first, second, third] = isView(rest) ? rest.slice(1) : rest;
  if (form !== 'pdp' && form !== 'product') return undefined;
  const isNamed = form === 'pdp' && PRODUCT_ID.test(second ?? '');
  const [last = '', further] = isNamed ? [second, third] : [first, second];
  const id = (form === 'pdp' ? ID_AT_END.exec(last)?.[1] : last) ?? '';
  return PRODUCT_ID.test(id) && further === undefined ? { id, region } : undefined;
}

/** The default market is the same product, whether a link names it or not. */
function regionOf(text: string | null | undefined): string | undefined {
  if (!text || !REGION.test(text)) return undefined;
  const region = text.toUpperCase() === 'UK' ? 'GB' : text.toUpperCase();
  return region === DEFAULT_REGION ? undefined : region;
}

function kindOf(path: readonly string[]): string {
  const [first, second] = path;
  if (first === undefined) return "the shop's home page";
  if (isView(path)) return 'a product link without a product id';
  if (!REGION.test(first)) return kindOfPage(KINDS, first) ?? 'another page of the shop';
  return second === undefined ? "a market's home page" : (kindOfPage(KINDS, second) ?? 'another page');
}
