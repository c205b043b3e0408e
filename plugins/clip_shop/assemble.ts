import {
  type ExtractOptions,
  type LinkRef,
  type Part,
  type Precision,
  type Product,
  type ProductData,
} from 'mediagate';
import { groupsOf } from './index.js';
import { isWhole, type ShopClimb } from './read/page.js';
import { type FoundProduct } from './read/product.js';
import { type ReviewGroup } from './read/reviews.js';

export interface FinishCall {
  climb: ShopClimb;
  link: LinkRef;
  options: ExtractOptions;
  /** Milliseconds since 1970; prices and stock hold for this moment. */
  now: number;
}

/** Notes of the page's tags, which are void where the page itself was read. */
const TAG_NOTES: ReadonlySet<string> = new Set(['fallback_source: page_tags', 'metadata_only']);

/** One document of everything that was found, and what the caller should know about it. */
export function finishProduct({ climb, link, options, now }: FinishCall): { data: ProductData; limitations: string[] } {
  const parts = climb.parts.flatMap(({ method, found }) => found.parts.map((part) => ({ method, found: part })));
  const merged = mergeProducts(parts);
  const groups = groupsOf(
    climb.parts.map(({ found }) => found),
    options,
  );
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
        ...reviewSource('five_star', groups[5], climb),
        ...reviewSource('one_star', groups[1], climb),
      },
      precision: merged.precision,
    },
  };
  const notes = isWhole(parts.map(({ found }) => found))
    ? climb.limitations.filter((note) => !TAG_NOTES.has(note))
    : climb.limitations;
  const limitations = [
    ...(climb.restriction ? [climb.restriction.code] : []),
    ...notes,
    ...(isPriceHidden(data, parts) ? ['masked_price'] : []),
    ...reviewNotes([groups[5], groups[1]]),
    ...roundedNote(merged.precision),
  ];
  return { data, limitations: [...new Set(limitations)] };
}

/** The method whose reviews a group begins with. */
function reviewSource(group: string, { reviews }: ReviewGroup, { parts }: ShopClimb): Record<string, string> {
  const first = reviews[0]?.id;
  const source = parts.find(({ found }) =>
    [...(found.walks ?? []), ...found.parts].some((one) => one.reviews.some(({ id }) => id === first)),
  );
  return first && source ? { [`reviews.${group}`]: source.method } : {};
}

/** A price counts as hidden where no source shows it, or where the one that does hides another end of the range. */
function isPriceHidden({ product }: ProductData, parts: readonly Part<FoundProduct>[]): boolean {
  if (product.price?.amount === undefined) return parts.some(({ found }) => found.masked);
  return parts.some(({ found }) => found.masked && found.product.price?.amount === product.price?.amount);
}

function reviewNotes(groups: readonly ReviewGroup[]): string[] {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const had = sum(groups.map(({ reviews }) => reviews.length));
  const wanted = sum(groups.map((group) => Math.max(group.wanted, group.reviews.length)));
  const picked = groups.some(({ asked, reviews }) => !asked && reviews.length > 0);
  return [
    ...(had < wanted ? [`reviews_partial: ${had} of ${wanted}`] : []),
    // Those that a page shows are not the latest of all, nor the first of the platform's order.
    ...(picked ? ['reviews_from_page'] : []),
  ];
}

function roundedNote(precision: Readonly<Record<string, Precision>>): string[] {
  const rounded = Object.keys(precision).filter((member) => precision[member] === 'rounded');
  return rounded.length > 0 ? [`stats_rounded: ${rounded.join(', ')}`] : [];
}

export interface MergedProduct {
  product: Partial<Product>;
  raw_stats: ProductData['raw_stats'];
  sources: Record<string, string>;
  precision: Record<string, Precision>;
}

/** Members that hang together: a price is one source's or another's, never half of each. */
const GROUPS = ['shop', 'rating'] as const;

/** One product of several parts, given best first: of each member the first part that has it wins. */
export function mergeProducts(parts: readonly Part<FoundProduct>[]): MergedProduct {
  const product: Record<string, unknown> = {};
  const sources: Record<string, string> = {};
  for (const { method, found } of byPrice(parts)) {
    for (const [name, value] of Object.entries(found.product)) {
      if (Object.hasOwn(product, name) && !isEmptyList(product[name])) continue;
      product[name] = value;
      if (!isEmptyList(value)) sources[`product.${name}`] = method;
    }
  }
  for (const group of GROUPS) Object.assign(product, mergeGroup(group, parts, sources));
  const raw_stats = Object.assign({}, ...parts.map(({ found }) => found.raw_stats).reverse());
  const precision = Object.assign({}, ...parts.map(({ found }) => found.precision).reverse());
  // Every value came out of a product of this very type.
  return { product: product as Partial<Product>, raw_stats, sources, precision };
}

/** Another source's price is better than none: one that has an amount goes before one that hides it. */
function byPrice(parts: readonly Part<FoundProduct>[]): readonly Part<FoundProduct>[] {
  if (!parts.some(({ found }) => found.product.price?.amount !== undefined)) return parts;
  return parts.map((part) => {
    if (!part.found.product.price || part.found.product.price.amount !== undefined) return part;
    const { price: _hidden, ...product } = part.found.product;
    return { ...part, found: { ...part.found, product } };
  });
}

/** Members of one shop, or one rating, from several parts, where nothing says that they are of two. */
function mergeGroup(
  group: (typeof GROUPS)[number],
  parts: readonly Part<FoundProduct>[],
  sources: Record<string, string>,
): Partial<Product> {
  const members: Record<string, unknown> = {};
  for (const { method, found } of parts) {
    const other = found.product[group];
    if (!other || ('id' in other && other.id && members.id && other.id !== members.id)) continue;
    for (const [name, value] of Object.entries(other)) {
      if (Object.hasOwn(members, name)) continue;
      members[name] = value;
      sources[`product.${group}.${name}`] = method;
    }
  }
  delete sources[`product.${group}`];
  return Object.keys(members).length > 0 ? { [group]: members } : {};
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
