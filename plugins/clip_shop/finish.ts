import type { LinkRef, Part, Precision, ProductData } from 'mediagate';
import { mergeProducts } from './merge-products.js';
import { groupsOf } from './methods.js';
import { isWhole, type ShopClimb } from './outcomes.js';
import type { FoundProduct } from './parse-product.js';
import type { ReviewOptions } from './review-walk.js';
import type { ReviewGroup } from './reviews.js';

export interface FinishCall {
  climb: ShopClimb;
  link: LinkRef;
  options: ReviewOptions;
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
