import { asArray, asBoolean, asRecord, at, type Review, type Static, Type } from 'mediagate';
import type { Facts } from './facts.js';
import { type Rating, readRating, readReviews } from './parse-reviews.js';

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

/** The reviews of one star group, as far as the platform gave them. */
export interface ReviewWalk {
  stars: Stars;
  reviews: readonly Review[];
  /** There are no more than these. */
  exhausted: boolean;
  /** What the platform says of all reviews of the product along with them. */
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
  facts: Facts;
  /** Asks for one page; undefined where the platform refuses it. */
  ask(query: ReviewQuery): Promise<unknown>;
  /** Whether there is time for another page. */
  hasTime(): boolean;
}

/** Page after page of one star group, until there are enough, no more, or a refusal. */
export async function walkReviews({ id, stars, options, facts, ask, hasTime }: ReviewWalkCall): Promise<ReviewWalk> {
  const { pageSize, maxPagesPerStar, componentName, filterType, sortRules } = facts.reviews;
  const known = new Map<string, Review>();
  let exhausted = false;
  let rating: Rating | undefined;
  for (let page = 1; page <= maxPagesPerStar && hasTime(); page += 1) {
    const answer = await ask({
      path: facts.urls.reviews,
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
    // A page that brings nothing new would be followed by others like it.
    if (exhausted || known.size === before || countUsable(known.values(), options) >= options.clipReviewLimit) break;
  }
  return { stars, reviews: [...known.values()], exhausted, ...(rating && { rating }) };
}

function countUsable(reviews: Iterable<Review>, { includeEmptyReviews }: ReviewOptions): number {
  return [...reviews].filter(({ text }) => includeEmptyReviews || text).length;
}
