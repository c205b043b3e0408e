import { isPlainUrl, kindOfPage, type LinkMatch, pathSegments } from 'mediagate/plugin';

/** Hosts where only some paths are the shop's; the others hold videos and profiles. */
const SITE_HOSTS: ReadonlySet<string> = new Set(['tiktok.com', 'www.tiktok.com', 'm.tiktok.com']);
/** The shop's own host: whatever stands there and is no product is refused by name. */
const SHOP_HOSTS: ReadonlySet<string> = new Set(['shop.tiktok.com', 'www.shop.tiktok.com']);
/** Portals of sellers and of their advertisers, under names per market (`seller-us`, `affiliate.us` …). */
const PORTAL = /^(seller|affiliate|partner)(?:[-.][a-z]{2,12}){0,2}\.tiktok\.com$/;

/** Seen with 19 digits; older and newer ones may have a few less or more. */
const PRODUCT_ID = /^\d{15,21}$/;
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
  'https://www.tiktok.com/shop/{region}/pdp/{name}/{id}',
  'https://shop.tiktok.com/{region}/pdp/{name}/{id}',
  'https://shop.tiktok.com/view/product/{id}',
  'https://www.tiktok.com/view/product/{id}',
] as const;

/**
 * The product behind a link with its one URL per market; undefined if the link is not the shop's. Price, stock and whether
 * there is a product at all differ by market, hence the `region` (upper case; absent for the default market).
 */
export function matchProduct(url: URL): LinkMatch {
  const { hostname } = url;
  if (!isPlainUrl(url)) return undefined;
  if (PORTAL.test(hostname)) return { unsupported: 'a page for sellers' };
  const isShopHost = SHOP_HOSTS.has(hostname);
  if (!isShopHost && !SITE_HOSTS.has(hostname)) return undefined;
  const segments = pathSegments(url);
  const path = segments[0] === 'shop' ? segments.slice(1) : segments;
  const product = readPath(path);
  if (product) {
    const { id } = product;
    const region = regionOf(product.region ?? url.searchParams.get('region'));
    if (!region) return { kind: 'product', id, url: `https://www.tiktok.com/shop/pdp/${id}` };
    return { kind: 'product', id, url: `https://shop.tiktok.com/${region.toLowerCase()}/pdp/${id}`, region };
  }
  if (!isShopHost && segments[0] !== 'shop' && !isView(path)) return undefined;
  return { unsupported: kindOf(path) };
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
  const [id = '', further] = isNamed ? [second, third] : [first, second];
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
