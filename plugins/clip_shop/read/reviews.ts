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
import type { SiteConfig } from '../fetch.js';
import type { ProductPart } from './product.js';
import { anyKnown, known, readId, readImageUrl, readText } from './values.js';

export type Rating = NonNullable<Product['rating']>;

/** Every review in the page, in its order. */
export function readPageReviews(
  product: JsonRecord,
  around: JsonRecord,
  parts: readonly JsonRecord[],
  id: string,
): Review[] {
  const places = [product, around, ...parts];
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
  return known({
    id,
    rating,
    text: readText(inner.review_text) ?? readText(inner.display_text) ?? readParts(inner.display_review_text),
    author: readText(inner.reviewer_name) ?? readText(at(outer, 'review_user', 'name')),
    created_at: toIsoTime(inner.review_time ?? inner.review_timestamp),
    likes: asCount(inner.digg_count) ?? asCount(inner.like_count) ?? asCount(inner.helpful_count),
    images: readImages(inner),
    variant: readText(inner.sku_specification) ?? readText(outer.sku_specification),
    country: /^[A-Z]{2}$/.exec(readText(inner.review_country)?.toUpperCase() ?? '')?.[0],
    verified_purchase: asBoolean(inner.is_verified_purchase) ?? asBoolean(outer.is_verified_purchase),
  });
}

function readParts(parts: unknown): string | undefined {
  return readText((asArray(parts) ?? []).flatMap((part) => readText(at(part, 'plain_text')) ?? []).join(' '));
}

/** Pictures of the review, not `display_image_url`, which is the product's. */
function readImages(review: JsonRecord): string[] {
  const listed = asArray(review.review_images) ?? asArray(review.images) ?? [];
  const images = listed.length > 0 ? listed : (asArray(review.media) ?? []).map((entry) => at(entry, 'image'));
  return images.length > 0 ? [...new Set(images.flatMap((image) => readImageUrl(image) ?? []))] : [];
}

/** A product without reviews has zero stars of zero reviews on its page, which is no rating. */
export function readRating(product: JsonRecord, around: JsonRecord, parts: readonly JsonRecord[]): Rating | undefined {
  const flat = asRecord(product.product_detail_review);
  const model = asRecord(product.review_model);
  const [ratings] = asRecords(
    [around, product, ...parts].flatMap((place) => [
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
  const distribution = count === undefined ? undefined : readDistribution(ratings?.rating_result);
  return anyKnown({ average, count, distribution });
}

/** How many reviews have how many stars. */
function readDistribution(result: unknown): Record<string, number> | undefined {
  const stars = ['1', '2', '3', '4', '5'].map((star) => [star, asCount(at(result, star))] as const);
  return anyKnown(Object.fromEntries(stars)) as Record<string, number> | undefined;
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
  /** The rating of the product that came with them. */
  rating?: Rating;
}

/** One page of reviews, as the platform's own code asks for it. */
export interface ReviewQuery {
  path: string;
  body: {
    product_id: string;
    page_start: number;
    page_size: number;
    sort_rule: number;
    review_filter: { filter_type: number; filter_value: number };
    component_name: string;
  };
}

export interface ReviewWalkCall {
  id: string;
  stars: Stars;
  options: ReviewOptions;
  siteConfig: SiteConfig;
  /** Asks for one page; undefined where the platform refuses it. */
  ask(query: ReviewQuery): Promise<unknown>;
  /** Whether there is time for another page. */
  hasTime(): boolean;
}

/** Fetches the reviews of one star group page by page, until there are enough, no more, or a refusal. */
export async function walkReviews({
  id,
  stars,
  options,
  siteConfig,
  ask,
  hasTime,
}: ReviewWalkCall): Promise<ReviewWalk> {
  const { pageSize, maxPagesPerStar, componentName, filterType, sortRules } = siteConfig.reviews;
  const known = new Map<string, Review>();
  let exhausted = false;
  let rating: Rating | undefined;
  for (let page = 1; page <= maxPagesPerStar && hasTime(); page += 1) {
    const answer = await ask({
      path: siteConfig.urls.reviews,
      body: {
        product_id: id,
        page_start: page,
        page_size: pageSize,
        sort_rule: sortRules[options.clipSort],
        review_filter: { filter_type: filterType, filter_value: stars },
        component_name: componentName,
      },
    });
    const data = at(answer, 'data');
    const list = asArray(at(data, 'product_reviews'));
    if (Number(at(answer, 'code')) !== 0 || !list) break;
    rating ??= readRating({}, asRecord(data) ?? {}, []);
    const before = known.size;
    for (const review of readReviews(list, id)) {
      if (review.rating === stars && !known.has(review.id)) known.set(review.id, review);
    }
    exhausted = asBoolean(at(data, 'has_more')) === false || list.length === 0;
    // After a page with nothing new, further pages would bring nothing new either.
    if (exhausted || known.size === before || countUsable(known.values(), options) >= options.clipReviewLimit) break;
  }
  return { stars, reviews: [...known.values()], exhausted, ...(rating && { rating }) };
}

function countUsable(reviews: Iterable<Review>, { includeEmptyReviews }: ReviewOptions): number {
  return [...reviews].filter(({ text }) => includeEmptyReviews || text).length;
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
  const { clipReviewLimit, clipSort, includeEmptyReviews } = options;
  const ofGroup = walks.filter((walk) => walk.stars === stars);
  const all = new Map<string, Review>();
  for (const review of [...ofGroup.flatMap(({ reviews }) => reviews), ...inPages]) {
    if (review.rating === stars && !all.has(review.id)) all.set(review.id, review);
  }
  const usable = [...all.values()].filter(({ text }) => includeEmptyReviews || text);
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
