import type { LinkMatch } from 'mediagate/plugin';

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

/** The one address of a product in one market; without a region, in the platform's default one. */
function canonicalUrl(id: string, region?: string): string {
  return region ? `https://shop.tiktok.com/${region.toLowerCase()}/pdp/${id}` : `https://www.tiktok.com/shop/pdp/${id}`;
}

/**
 * The product behind a link, without any request; undefined if the link is not the shop's. Price, stock and whether
 * there is a product at all differ by market, hence the `region` (upper case; absent for the default market).
 */
export function matchProduct(url: URL): LinkMatch {
  const { protocol, port, username, password, hostname } = url;
  if (!/^https?:$/.test(protocol) || port !== '' || username !== '' || password !== '') return undefined;
  if (PORTAL.test(hostname)) return { unsupported: 'a page for sellers' };
  const isShopHost = SHOP_HOSTS.has(hostname);
  if (!isShopHost && !SITE_HOSTS.has(hostname)) return undefined;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const product = readPath(segments);
  if (product) {
    const region = regionOf(product.region ?? url.searchParams.get('region'));
    return {
      kind: 'product',
      id: product.id,
      url: canonicalUrl(product.id, region),
      ...(region && { region }),
    };
  }
  if (!isShopHost && segments[0] !== 'shop' && !isView(segments)) return undefined;
  return { unsupported: kindOf(segments) };
}

function isView([first, second]: readonly string[]): boolean {
  return first === 'view' && second === 'product';
}

/** `[shop/][{region}/](pdp/[{name}/]|view/product/|product/){id}`. */
function readPath(segments: readonly string[]): { id: string; region?: string } | undefined {
  let rest = segments[0] === 'shop' ? segments.slice(1) : segments;
  const region = rest[0] !== undefined && REGION.test(rest[0]) ? rest[0] : undefined;
  if (region) rest = rest.slice(1);
  if (isView(rest)) rest = rest.slice(1);
  const [form, first, second] = rest;
  if (form !== 'pdp' && form !== 'product') return undefined;
  const named = form === 'pdp' && second !== undefined && PRODUCT_ID.test(second);
  const id = named ? second : first;
  if (id === undefined || !PRODUCT_ID.test(id) || rest.length > (named ? 3 : 2)) return undefined;
  return { id, ...(region && { region }) };
}

/** The default market is the same product, whether a link names it or not. */
function regionOf(text: string | null | undefined): string | undefined {
  if (!text || !REGION.test(text)) return undefined;
  const region = text.toUpperCase() === 'UK' ? 'GB' : text.toUpperCase();
  return region === DEFAULT_REGION ? undefined : region;
}

function kindOf(segments: readonly string[]): string {
  const path = segments[0] === 'shop' ? segments.slice(1) : segments;
  const [first, second] = path;
  if (first === undefined) return "the shop's home page";
  if (REGION.test(first)) return second === undefined ? "a market's home page" : (named(second) ?? 'another page');
  return isView(path) ? 'a product link without a product id' : (named(first) ?? 'another page of the shop');
}

function named(segment: string): string | undefined {
  return Object.hasOwn(KINDS, segment) ? KINDS[segment] : undefined;
}
