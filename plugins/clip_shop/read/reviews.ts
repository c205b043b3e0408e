/*
 * Reads reviews and ratings of pages and of the review endpoint, and groups them into five and one star. A group has
 * each review once, in the requested order, up to the limit. It counts as complete if the platform has no more, or the
 * page's distribution says that all are there; otherwise the extractor asks for more. Reviews of other products are
 * dropped. A product without reviews has no rating, although its page states zero stars. The options of a request are
 * declared here.
 */

import {
  asArray,
  asBoolean,
  asCount,
  asId,
  asNumber,
  asPositive,
  asRecord,
  asRecords,
  at,
  type JsonRecord,
  type Product,
  type Review,
  type Static,
  Type,
  toIsoTime,
} from 'mediagate/plugin';
import type { ProductPart } from './part.js';
import { anyKnown, known, readImageUrl, readText } from './values.js';

export type Rating = NonNullable<Product['rating']>;

/** Every review in the page, in its order. */
export function readPageReviews(places: readonly unknown[], id: string): Review[] {
  const lists = places.flatMap((place) => [
    at(place, 'review_info', 'product_reviews'),
    at(place, 'reviews_info', 'product_reviews'),
    at(place, 'product_detail_review', 'review_items'),
    at(place, 'reviews_info', 'review_items'),
    at(place, 'product_reviews'),
    at(place, 'hot_reviews'),
  ]);
  return lists.flatMap((list) => readReviews(list, id));
}

/**
 * Reviews of one list, those of other products left out. Fields have the words of the page of 2025 (a `review` inside an
 * item) or of the endpoint and the page of 2026.
 */
export function readReviews(list: unknown, productId: string): Review[] {
  return asRecords(list).flatMap((outer) => {
    const inner = asRecord(outer.review) ?? outer;
    const id = asId(inner.review_id) ?? asId(outer.review_id);
    const owner = asId(inner.product_id) ?? asId(outer.product_id) ?? productId;
    const rating = asPositive(inner.review_rating) ?? asPositive(inner.rating);
    if (!id || owner !== productId || rating === undefined || rating > 5) return [];
    const parts = asRecords(inner.display_review_text).flatMap((part) => readText(part.plain_text) ?? []);
    const review: Review = {
      id,
      rating,
      text: readText(inner.review_text) ?? readText(inner.display_text) ?? readText(parts.join(' ')),
      author: readText(inner.reviewer_name) ?? readText(at(outer, 'review_user', 'name')),
      created_at: toIsoTime(inner.review_time ?? inner.review_timestamp),
      likes: asCount(inner.digg_count) ?? asCount(inner.like_count) ?? asCount(inner.helpful_count),
      images: readImages(inner),
      variant: readText(inner.sku_specification) ?? readText(outer.sku_specification),
      country: /^[A-Z]{2}$/.exec(readText(inner.review_country)?.toUpperCase() ?? '')?.[0],
      verified_purchase: asBoolean(inner.is_verified_purchase) ?? asBoolean(outer.is_verified_purchase),
    };
    return [known(review)];
  });
}

/** Pictures of the review, not `display_image_url`, which is the product's. */
function readImages(review: JsonRecord): string[] {
  const listed = asArray(review.review_images) ?? asArray(review.images) ?? [];
  const images = listed.length > 0 ? listed : (asArray(review.media) ?? []).map((entry) => at(entry, 'image'));
  return [...new Set(images.flatMap((image) => readImageUrl(image) ?? []))];
}

/** A product without reviews has zero stars of zero reviews on its page, which is no rating. */
export function readRating(places: readonly unknown[]): Rating | undefined {
  const [flat] = asRecords(places.map((place) => at(place, 'product_detail_review')));
  const [model] = asRecords(places.map((place) => at(place, 'review_model')));
  const [ratings] = asRecords(
    places.flatMap((place) => [
      at(place, 'review_info', 'review_ratings'),
      at(place, 'reviews_info', 'review_ratings'),
      at(place, 'review_ratings'),
    ]),
  );
  const count =
    asPositive(model?.product_review_count) ?? asPositive(ratings?.review_count) ?? asPositive(flat?.review_count);
  const average = [model?.product_overall_score, ratings?.overall_score, flat?.product_rating]
    .map((score) => asNumber(score))
    .find((score) => score !== undefined && score > 0 && score <= 5);
  const stars = count === undefined ? [] : ['1', '2', '3', '4', '5'];
  const counted = stars.flatMap((star) => {
    const reviews = asCount(at(ratings?.rating_result, star));
    return reviews === undefined ? [] : [[star, reviews] as const];
  });
  return anyKnown({ average, count, distribution: anyKnown(Object.fromEntries(counted)) });
}

/** Options of a request that change which reviews are fetched (service document 2.4). */
export const REVIEW_OPTIONS = Type.Object(
  {
    clipReviewLimit: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 10,
      description: 'Most reviews per star group.',
    }),
    clipSort: Type.Union([Type.Literal('latest'), Type.Literal('recommended')], {
      default: 'latest',
      description: 'Order of the reviews.',
    }),
    includeEmptyReviews: Type.Boolean({ default: false, description: 'Include reviews without text.' }),
  },
  { additionalProperties: false },
);
export type ReviewOptions = Static<typeof REVIEW_OPTIONS>;

/** The star groups that a result has. */
export const STAR_GROUPS = [5, 1] as const;
export type Stars = (typeof STAR_GROUPS)[number];

/** The reviews of one star group that the platform returned. */
export interface ReviewWalk {
  stars: Stars;
  reviews: readonly Review[];
  /** There are no more than these. */
  exhausted: boolean;
}

/** Reviews with text, and empty ones if they are wanted. */
export function usableOf(reviews: Iterable<Review>, { includeEmptyReviews }: ReviewOptions): Review[] {
  return [...reviews].filter(({ text }) => includeEmptyReviews || text);
}

/**
 * The reviews of one star group: each once, empty ones out unless wanted, in the wanted order, up to the limit. `wanted` is
 * how many there should be: the limit, or as many as the product has. `asked`: requested from the platform for this group
 * and order, not picked from a page.
 */
export function groupReviews({
  stars,
  inPages,
  walks,
  total,
  options,
}: {
  stars: Stars;
  /** In the order of their pages. */
  inPages: readonly Review[];
  walks: readonly ReviewWalk[];
  /** The number of reviews that the product has in this group, if the page states it. */
  total?: number;
  options: ReviewOptions;
}) {
  const ofGroup = walks.filter((walk) => walk.stars === stars);
  const all = new Map<string, Review>();
  for (const review of [...ofGroup.flatMap(({ reviews }) => reviews), ...inPages]) {
    if (review.rating === stars && !all.has(review.id)) all.set(review.id, review);
  }
  const usable = usableOf(all.values(), options);
  const complete = ofGroup.some(({ exhausted }) => exhausted) || (total !== undefined && all.size >= total);
  const limit = options.clipReviewLimit;
  const most = Math.min(total ?? limit, limit);
  return {
    reviews: (options.clipSort === 'latest' ? usable.sort(laterFirst) : usable).slice(0, limit),
    wanted: complete ? Math.min(usable.length, limit) : most,
    asked: complete || ofGroup.some(({ reviews }) => reviews.length >= most),
  };
}

/** The platform's own order stays among those of one time, and undated ones come last. */
function laterFirst(one: Review, other: Review): number {
  return (Date.parse(other.created_at ?? '') || 0) - (Date.parse(one.created_at ?? '') || 0);
}

export type ReviewGroup = ReturnType<typeof groupReviews>;

/** The two star groups of what was found. */
export function groupsOf(found: readonly ProductPart[], options: ReviewOptions): Record<Stars, ReviewGroup> {
  const walks = found.flatMap((part) => part.walks ?? []);
  const inPages = found.flatMap(({ reviews }) => reviews);
  const distribution = found.map(({ product }) => product.rating?.distribution).find((one) => one !== undefined);
  const group = (stars: Stars) => groupReviews({ stars, inPages, walks, total: distribution?.[stars], options });
  return { 5: group(5), 1: group(1) };
}

/** Groups that have fewer reviews than wanted, or not those that the wanted order begins with. */
export function groupsToAsk(found: readonly ProductPart[], options: ReviewOptions): readonly Stars[] {
  const groups = groupsOf(found, options);
  return STAR_GROUPS.filter((stars) => groups[stars].reviews.length < groups[stars].wanted || !groups[stars].asked);
}
