import {
  asArray,
  asBoolean,
  asCount,
  asNumber,
  asPositive,
  asRecord,
  at,
  type JsonRecord,
  type Product,
  type Review,
  toIsoTime,
} from 'mediagate';
import { readId, readImageUrl, readText, recordsIn } from './read-values.js';

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
  const text = readText(inner.review_text) ?? readText(inner.display_text) ?? readParts(inner.display_review_text);
  const author = readText(inner.reviewer_name) ?? readText(at(outer, 'review_user', 'name'));
  const created_at = toIsoTime(inner.review_time ?? inner.review_timestamp);
  const likes = asCount(inner.digg_count) ?? asCount(inner.like_count) ?? asCount(inner.helpful_count);
  const variant = readText(inner.sku_specification) ?? readText(outer.sku_specification);
  const country = readText(inner.review_country)?.toUpperCase();
  const verified = asBoolean(inner.is_verified_purchase) ?? asBoolean(outer.is_verified_purchase);
  return {
    id,
    rating,
    ...(text && { text }),
    ...(author && { author }),
    ...(created_at && { created_at }),
    ...(likes !== undefined && { likes }),
    images: readImages(inner),
    ...(variant && { variant }),
    ...(country && /^[A-Z]{2}$/.test(country) && { country }),
    ...(verified !== undefined && { verified_purchase: verified }),
  };
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

/** Of a product without reviews the page says zero stars of zero reviews, which is no rating. */
export function readRating(product: JsonRecord, around: JsonRecord, parts: readonly JsonRecord[]): Rating | undefined {
  const flat = asRecord(product.product_detail_review);
  const model = asRecord(product.review_model);
  const [ratings] = recordsIn(
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
  const rating = {
    ...(average !== undefined && { average }),
    ...(count !== undefined && { count }),
    ...(distribution && { distribution }),
  };
  return Object.keys(rating).length > 0 ? rating : undefined;
}

/** How many reviews have how many stars. */
function readDistribution(result: unknown): Record<string, number> | undefined {
  const stars = ['1', '2', '3', '4', '5'].flatMap((star) => {
    const reviews = asCount(at(result, star));
    return reviews === undefined ? [] : [[star, reviews] as const];
  });
  return stars.length > 0 ? Object.fromEntries(stars) : undefined;
}
