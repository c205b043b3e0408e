import type { Browser, Clock, Method } from 'mediagate';
import { createBrowserVisit } from './browser-visit.js';
import type { Facts } from './facts.js';
import { type Found, isWhole, type ShopOutcome } from './outcomes.js';
import type { FoundProduct } from './parse-product.js';
import { createPageFetch, type PageForm, type RequestSettings, type Wanted } from './requests.js';
import { type ReviewOptions, type ReviewWalk, STAR_GROUPS, type Stars } from './review-walk.js';
import { groupReviews, type ReviewGroup } from './reviews.js';

export const BROWSER_RUNG = 'browser';

/** One product to be had, and what is known of it so far. */
export interface ProductCall {
  wanted: Wanted;
  options: ReviewOptions;
  /** When everything must be over, on the clock that never jumps. */
  deadline: number;
  /** What each method that answered came back with. */
  outcomes: Map<string, ShopOutcome>;
}

export interface MethodSettings extends RequestSettings {
  facts: Facts;
  browser: Browser;
  clock: Clock;
}

/** Milliseconds without which opening a browser is of no use. */
const BROWSER_START_MS = 4_000;

const PAGES: readonly (readonly [name: string, form: PageForm])[] = [
  ['www_page', 'wwwPage'],
  ['shop_page', 'shopPage'],
  ['share_page', 'sharePage'],
];

/**
 * The ways to a product, best first: its page under each of its addresses until one shows it, then the page in a real
 * browser, which sees more, and from which the reviews can be had page by page.
 */
export function createMethods(settings: MethodSettings): Method<Found, ProductCall>[] {
  const { browser, clock } = settings;
  const fetchPage = createPageFetch(settings);
  const visitProduct = createBrowserVisit(settings);

  const pages = PAGES.map(
    ([name, form]): Method<Found, ProductCall> => ({
      name,
      cost: 1,
      definitive: true,
      usable: ({ outcomes }) => !isWhole(partsIn(outcomes)),
      async run({ wanted, outcomes }, signal) {
        const outcome = await fetchPage(form, wanted, signal);
        outcomes.set(name, outcome);
        return outcome;
      },
    }),
  );
  return [
    ...pages,
    {
      name: BROWSER_RUNG,
      cost: 20,
      definitive: true,
      available: () => browser.available,
      usable: ({ deadline }) => deadline - clock.monotonic() > BROWSER_START_MS,
      async run({ wanted, options, deadline, outcomes }, signal) {
        const groups = (found: ShopOutcome) => groupsToAsk([...outcomes.values(), found], options);
        const outcome = doubted(await visitProduct({ wanted, options, groups, deadline, signal }), outcomes);
        outcomes.set(BROWSER_RUNG, outcome);
        return outcome;
      },
    },
  ];
}

/** Where a page has shown the product, a visit that is refused says nothing about the product. */
function doubted(outcome: ShopOutcome, outcomes: ReadonlyMap<string, ShopOutcome>): ShopOutcome {
  if (outcome.kind !== 'definitive' || !isWhole(partsIn(outcomes))) return outcome;
  return { kind: 'transient', code: 'upstream_refused', reason: outcome.reason };
}

/** Parts of the product that were found so far. */
function partsIn(outcomes: ReadonlyMap<string, ShopOutcome>): FoundProduct[] {
  return foundIn([...outcomes.values()]).flatMap(({ parts }) => parts);
}

function foundIn(outcomes: readonly ShopOutcome[]): Found[] {
  return outcomes.flatMap((outcome) => (outcome.kind === 'transient' ? [] : (outcome.found ?? [])));
}

/** The two star groups of what was found. */
export function groupsOf(found: readonly Found[], options: ReviewOptions): Record<Stars, ReviewGroup> {
  const parts = found.flatMap((one) => one.parts);
  const walks: ReviewWalk[] = found.flatMap((one) => one.walks ?? []);
  const inPages = parts.flatMap(({ reviews }) => reviews);
  const distribution = parts.find(({ product }) => product.rating?.distribution)?.product.rating?.distribution;
  const group = (stars: Stars) =>
    groupReviews({ stars, inPages, walks, total: distribution?.[String(stars)], options });
  return { 5: group(5), 1: group(1) };
}

/** Groups that have fewer reviews than wanted, or not those that the wanted order begins with. */
export function groupsToAsk(outcomes: readonly ShopOutcome[], options: ReviewOptions): readonly Stars[] {
  const groups = groupsOf(foundIn(outcomes), options);
  return STAR_GROUPS.filter((stars) => groups[stars].reviews.length < groups[stars].wanted || !groups[stars].asked);
}
