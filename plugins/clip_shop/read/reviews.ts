import {
  asArray,
  asBoolean,
  asCount,
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
import type { ProductPart } from './product.js';
import { anyKnown, known, readId, readImageUrl, readText } from './values.js';

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

/** Reviews of one list, those of other products left out. */
export function readReviews(list: unknown, productId: string): Review[] {
  return (asArray(list) ?? []).flatMap((item) => readReview(item, productId) ?? []);
}

/** One review, in the words of the page of 2025 (a `review` inside an item) or of the endpoint and the page of 2026. */
function readReview(item: unknown, productId: string): Review | undefined {
  const outer = asRecord(item);
  const inner = asRecord(outer?.review) ?? outer;
  if (!outer || !inner) return undefined;
  const owner = readId(inner.product_id) ?? readId(outer.product_id);
  if (owner !== undefined && owner !== productId) return undefined;
  const id = readId(inner.review_id) ?? readId(outer.review_id);
  const rating = asCount(inner.review_rating) ?? asCount(inner.rating);
  if (!id || rating === undefined || rating < 1 || rating > 5) return undefined;
  const parts = asRecords(inner.display_review_text).flatMap((part) => readText(part.plain_text) ?? []);
  return known({
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
  });
}

/** Pictures of the review, not `display_image_url`, which is the product's. */
function readImages(review: JsonRecord): string[] {
  const listed = asArray(review.review_images) ?? asArray(review.images) ?? [];
  const images = listed.length > 0 ? listed : (asArray(review.media) ?? []).map((entry) => at(entry, 'image'));
  return images.length > 0 ? [...new Set(images.flatMap((image) => readImageUrl(image) ?? []))] : [];
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
    clipReviewLimit: Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'reviews per star group' }),
    clipSort: Type.Union([Type.Literal('latest'), Type.Literal('recommended')], { default: 'latest' }),
    includeEmptyReviews: Type.Boolean({ default: false, description: 'also reviews without text' }),
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

/** One star group of a result. */
export interface ReviewGroup {
  /** Sorted and cut to the wanted number. */
  reviews: Review[];
  /** How many there should be: the wanted number, or as many as the product has. */
  wanted: number;
  /** Requested from the platform for this group and order, not picked from a page. */
  asked: boolean;
}

export interface GroupCall {
  stars: Stars;
  /** In the order of their pages. */
  inPages: readonly Review[];
  walks: readonly ReviewWalk[];
  /** The number of reviews that the product has in this group, if the page states it. */
  total?: number;
  options: ReviewOptions;
}

/** The reviews of one star group: each once, empty ones out unless wanted, in the wanted order, up to the limit. */
export function groupReviews({ stars, inPages, walks, total, options }: GroupCall): ReviewGroup {
  const { clipReviewLimit, clipSort } = options;
  const ofGroup = walks.filter((walk) => walk.stars === stars);
  const all = new Map<string, Review>();
  for (const review of [...ofGroup.flatMap(({ reviews }) => reviews), ...inPages]) {
    if (review.rating === stars && !all.has(review.id)) all.set(review.id, review);
  }
  const usable = usableOf(all.values(), options);
  const complete = ofGroup.some(({ exhausted }) => exhausted) || (total !== undefined && all.size >= total);
  const sorted = clipSort === 'latest' ? usable.sort(laterFirst) : usable;
  return {
    reviews: sorted.slice(0, clipReviewLimit),
    wanted: complete ? Math.min(usable.length, clipReviewLimit) : Math.min(total ?? clipReviewLimit, clipReviewLimit),
    asked:
      complete || ofGroup.some(({ reviews }) => reviews.length >= Math.min(clipReviewLimit, total ?? clipReviewLimit)),
  };
}

/** The platform's own order stays among those of one time, and undated ones come last. */
function laterFirst(one: Review, other: Review): number {
  return (Date.parse(other.created_at ?? '') || 0) - (Date.parse(one.created_at ?? '') || 0);
}

/** The two star groups of what was found. */
export function groupsOf(found: readonly ProductPart[], options: ReviewOptions): Record<Stars, ReviewGroup> {
  const walks = found.flatMap((part) => part.walks ?? []);
  const inPages = found.flatMap(({ reviews }) => reviews);
  const distribution = found.find(({ product }) => product.rating?.distribution)?.product.rating?.distribution;
  const group = (stars: Stars) =>
    groupReviews({ stars, inPages, walks, total: distribution?.[String(stars)], options });
  return { 5: group(5), 1: group(1) };
}

/** Groups that have fewer reviews than wanted, or not those that the wanted order begins with. */
export function groupsToAsk(found: readonly ProductPart[], options: ReviewOptions): readonly Stars[] {
  const groups = groupsOf(found, options);
  return STAR_GROUPS.filter((stars) => groups[stars].reviews.length < groups[stars].wanted || !groups[stars].asked);
}
