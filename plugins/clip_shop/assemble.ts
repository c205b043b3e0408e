/*
 * Decides when the parts of a product suffice, and merges them. For each field the earlier part wins, but a price with
 * an amount replaces a hidden one, and fields of the shop and the rating are merged one by one. Data of another shop
 * are left out. The document states the source of each field and which numbers are rounded; what is missing becomes a
 * limitation. If all URLs of a product refuse it, their reasons together decide whether it is removed, blocked in the
 * region, or needs a login.
 */

import {
  type DefinitiveCode,
  GatewayError,
  type ItemCall,
  type ItemRun,
  limitationNotes,
  type Part,
  type Precision,
  type Product,
  type ProductData,
} from 'mediagate/plugin';
import { REDIRECTS } from './fetch.js';
import type { ShopState } from './options.js';
import { isWhole } from './read/page.js';
import type { ProductPart } from './read/part.js';
import { groupsOf, groupsToAsk, type ReviewGroup } from './read/reviews.js';

type ShopRun = ItemRun<ProductPart, ShopState>;
type ShopPart = Part<ProductPart>;

/** Enough is the product with its price, and the reviews that the request asks for. */
export function isEnough(found: readonly ProductPart[], { state }: ItemCall<ProductPart, ShopState>): boolean {
  const priced = found.some(({ product }) => product.price?.amount !== undefined);
  const hidden = !priced && found.some(({ masked }) => masked);
  return isWhole(found) && !hidden && groupsToAsk(found, state.reviews).length === 0;
}

/** Notes of the page's tags, which do not apply if the page itself was read. */
const TAG_NOTES: ReadonlySet<string> = new Set(['fallback_source: page_tags', 'metadata_only']);

/**
 * Makes one document of all parts. `now` is in milliseconds since 1970: prices and stock are those of this moment.
 * @throws GatewayError if one page gives tags alone and another the reason why there is no product.
 */
export function assemble(run: ShopRun, now: number) {
  const { parts, attempts, restriction, call } = run;
  const { link, state } = call;
  const found = parts.map((part) => part.found);
  if (restriction && !isWhole(found)) {
    const { code, reason } = restriction;
    throw new GatewayError(code, 'The product is not shown.', { platform: 'clip_shop', reason, attempts });
  }
  const merged = mergeProducts(parts);
  const groups = groupsOf(found, state.reviews);
  const region = merged.product.region ?? link.region;
  const data: ProductData = {
    product: {
      ...merged.product,
      product_id: link.id,
      image_urls: merged.product.image_urls ?? [],
      video_urls: merged.product.video_urls ?? [],
      url: link.url,
      ...(region && { region }),
    },
    reviews: { five_star: groups[5].reviews, one_star: groups[1].reviews },
    raw_stats: { ...merged.raw_stats, fetched_at: new Date(now).toISOString() },
    provenance: {
      sources: {
        ...merged.sources,
        ...reviewSource('five_star', groups[5], parts),
        ...reviewSource('one_star', groups[1], parts),
      },
      precision: merged.precision,
    },
  };
  const limitations = isWhole(found) ? run.limitations.filter((note) => !TAG_NOTES.has(note)) : run.limitations;
  const visitFailed = attempts.some(
    ({ method, outcome }) => method === 'browser' && outcome !== 'ok' && outcome !== 'skipped',
  );
  return {
    data,
    limitations: limitationNotes(
      { restriction, limitations },
      data,
      isPriceHidden(data, found) && 'masked_price',
      ...reviewNotes([groups[5], groups[1]]),
    ),
    partial: visitFailed || !isWhole(found),
  };
}

/** The method whose reviews a group begins with. */
function reviewSource(group: string, { reviews }: ReviewGroup, parts: readonly ShopPart[]): Record<string, string> {
  const first = reviews[0]?.id;
  const source = parts.find(({ found }) =>
    [...(found.walks ?? []), found].some((one) => one.reviews.some(({ id }) => id === first)),
  );
  return first && source ? { [`reviews.${group}`]: source.method } : {};
}

/** A price is hidden if no source shows it, or if the source that does hides the other end of the range. */
function isPriceHidden({ product }: ProductData, found: readonly ProductPart[]): boolean {
  const amount = product.price?.amount;
  return found.some((part) => part.masked && (amount === undefined || part.product.price?.amount === amount));
}

function reviewNotes(groups: readonly ReviewGroup[]) {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const count = sum(groups.map(({ reviews }) => reviews.length));
  const wanted = sum(groups.map((group) => Math.max(group.wanted, group.reviews.length)));
  const isPicked = groups.some(({ asked, reviews }) => !asked && reviews.length > 0);
  // The reviews in a page are neither the latest of all nor the first of the platform's order.
  return [count < wanted && `reviews_partial: ${count} of ${wanted}`, isPicked && 'reviews_from_page'];
}

/** Reasons for which one URL alone shows nothing, and what they mean if no other shows more, the most telling first. */
const MEANINGS: readonly (readonly [code: DefinitiveCode, reasons: readonly string[]])[] = [
  ['geo_blocked', [REDIRECTS.region]],
  ['login_required', [REDIRECTS.login]],
  ['removed', [REDIRECTS.home, 'HTTP 404', 'HTTP 410']],
];

/** One URL alone may be wrong; if all of them refuse for reasons that concern the product, that is the answer. */
export function explain(error: GatewayError, { outcomes }: ItemCall<ProductPart, ShopState>): GatewayError {
  const asked = (error.attempts ?? []).filter(({ outcome }) => outcome !== 'skipped');
  const reasons = asked.map(({ method }) => {
    const outcome = outcomes.get(method);
    return outcome?.kind === 'transient' ? outcome.reason : undefined;
  });
  const meanings = reasons.map((reason) => MEANINGS.findIndex(([, known]) => reason && known.includes(reason)));
  const [code] = MEANINGS[Math.min(...meanings)] ?? [];
  if (!code || meanings.length < 2) return error;
  return new GatewayError(code, 'The product has no working URL.', {
    platform: 'clip_shop',
    reason: reasons[meanings.indexOf(Math.min(...meanings))],
    attempts: error.attempts,
    cause: error,
  });
}

/** One product of several parts, given best first: of each field the first part that has it wins. */
export function mergeProducts(parts: readonly ShopPart[]) {
  const sources: Record<string, string> = {};
  const product: Partial<Product> = takeFirst('product', parts, (whole) => whole, sources);
  // Another source's price is better than none: one that has an amount goes before one that hides it.
  const priced = parts.find(({ found }) => found.product.price?.amount !== undefined);
  if (priced) {
    product.price = priced.found.product.price;
    sources['product.price'] = priced.method;
  }
  // Several parts may each have fields of the shop and the rating; a price is one part's, never half of each.
  if (product.shop) {
    const id = parts.map(({ found }) => found.product.shop?.id).find((one) => one !== undefined);
    const ofShop = parts.filter(({ found }) => (found.product.shop?.id ?? id) === id);
    product.shop = takeFirst('product.shop', ofShop, ({ shop }) => shop, sources);
  }
  if (product.rating) product.rating = takeFirst('product.rating', parts, ({ rating }) => rating, sources);
  const raw_stats: ProductData['raw_stats'] = Object.assign({}, ...parts.map(({ found }) => found.raw_stats).reverse());
  const precision: Record<string, Precision> = Object.assign(
    {},
    ...parts.map(({ found }) => found.precision).reverse(),
  );
  return { product, raw_stats, sources, precision };
}

/** Of each field the first part that has it. A list without entries counts if no other part has one. */
function takeFirst(
  path: string,
  parts: readonly ShopPart[],
  fieldsOf: (product: Partial<Product>) => object | undefined,
  sources: Record<string, string>,
): Record<string, unknown> {
  const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;
  const taken: Record<string, unknown> = {};
  for (const { method, found } of parts) {
    for (const [name, value] of Object.entries(fieldsOf(found.product) ?? {})) {
      if (value === undefined || (Object.hasOwn(taken, name) && !isEmptyList(taken[name]))) continue;
      taken[name] = value;
      if (!isEmptyList(value)) sources[`${path}.${name}`] = method;
    }
  }
  delete sources[path];
  return taken;
}
