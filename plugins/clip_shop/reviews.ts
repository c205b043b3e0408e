import type { Review } from 'mediagate';
import type { ReviewOptions, ReviewWalk, Stars } from './review-walk.js';

/** One star group of a result. */
export interface ReviewGroup {
  /** Sorted and cut to the wanted number. */
  reviews: Review[];
  /** How many there should be: the wanted number, or as many as the product has. */
  wanted: number;
  /** Given by the platform for this very group and order, and not picked from what a page shows. */
  asked: boolean;
}

export interface GroupCall {
  stars: Stars;
  /** In the order of the pages they stand in. */
  inPages: readonly Review[];
  walks: readonly ReviewWalk[];
  /** How many the product has in this group, where the page tells. */
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
