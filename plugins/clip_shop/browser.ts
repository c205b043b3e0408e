/*
 * Opens a product's page in the shared browser and lets the code of the page request reviews, because only that code
 * can sign them. For each star group it asks page by page, until there are enough reviews, no more, nothing new, or the
 * deadline minus half a second. Each wait has its own timeout, since a page with an endless script answers nothing. A
 * product that was read before the page hung or refused is still returned. A visit is the most expensive method: a
 * browser page for several seconds.
 */

import {
  asArray,
  asRecord,
  at,
  type BrowserPage,
  GatewayError,
  type ItemCall,
  type PluginContext,
  type Review,
  tryParseJson,
} from 'mediagate/plugin';
import { outcomeOfRedirect, pageUrl } from './fetch.js';
import type { ClipShopOptions, ShopState } from './options.js';
import { isReadable, isWhole, outcomeOfPage, type ShopOutcome } from './read/page.js';
import { type ProductPart, partOf } from './read/part.js';
import {
  groupsToAsk,
  type Rating,
  type ReviewWalk,
  readRating,
  readReviews,
  type Stars,
  usableOf,
} from './read/reviews.js';
import type { SiteConfig } from './site.js';

/** Milliseconds reserved for closing the browser and answering. */
const CLOSING_MS = 500;
const MAX_WAIT_MS = 8_000;
const MAX_REQUEST_MS = 6_000;
/** Milliseconds that a reply may take from the page to here. */
const TRANSFER_MS = 250;

/**
 * Opens a product's page in a browser and lets the page's own code, which signs its requests, fetch the reviews. The
 * product is returned even if reviews are refused.
 */
export function createBrowserVisit(
  { browser, clock, options }: PluginContext<ClipShopOptions>,
  siteConfig: SiteConfig,
) {
  return async function visitProduct(
    { link, state, found }: ItemCall<ProductPart, ShopState>,
    signal: AbortSignal,
  ): Promise<ShopOutcome> {
    const left = () => state.deadline - CLOSING_MS - clock.monotonic();
    const limit = (maxMs: number) => Math.max(1, Math.min(maxMs, left()));
    const url = pageUrl(siteConfig, 'shopPage', link);
    const walks: ReviewWalk[] = [];
    let rating: Rating | undefined;
    let shown: Extract<ShopOutcome, { kind: 'found' }> | undefined;

    async function visit(page: BrowserPage, visitSignal: AbortSignal): Promise<ShopOutcome> {
      await page.goto(url, { waitUntil: 'domcontentloaded', timeout: Math.max(1, left()) });
      const awaited = [...siteConfig.blobs.map((blob) => `#${blob}`), ...siteConfig.selectors.wall].join(', ');
      await page.waitForSelector(awaited, { state: 'attached', timeout: limit(MAX_WAIT_MS) }).catch(() => {
        // Neither data nor a check: the content below is read anyway.
        visitSignal.throwIfAborted();
      });
      const outcome =
        outcomeOfUrl(page.url(), url, link.id, siteConfig) ??
        outcomeOfPage(await inTime(page.content(), limit(MAX_REQUEST_MS)), link.id, siteConfig);
      if (outcome.kind !== 'found' || !isReadable(outcome.found)) return outcome;
      shown = outcome;
      for (const stars of groupsToAsk([...found(), ...outcome.found], state.reviews))
        await walkReviews(page, stars, visitSignal);
      return withReviews(outcome);
    }

    function withReviews(outcome: NonNullable<typeof shown>): ShopOutcome {
      if (walks.length === 0) return outcome;
      const part = partOf({ product_id: link.id, ...(rating && { rating }) });
      return { ...outcome, found: [...outcome.found, { ...part, walks }] };
    }

    /** A page with an endless script does not answer, and its own timers do not run. */
    async function inTime<Answer>(answer: Promise<Answer>, timeoutMs: number): Promise<Answer> {
      const timer = new AbortController();
      const silence = clock.sleep(timeoutMs, timer.signal).then((): never => {
        throw new GatewayError('upstream_timeout', 'The page does not answer.');
      });
      return Promise.race([answer, silence]).finally(() => timer.abort());
    }

    /** Fetches the reviews of one star group page by page, until there are enough, no more, or a refusal. */
    async function walkReviews(page: BrowserPage, stars: Stars, visitSignal: AbortSignal): Promise<void> {
      const { pageSize, maxPagesPerStar, componentName, filterType, sortRules } = siteConfig.reviews;
      const reviews = new Map<string, Review>();
      let exhausted = false;
      for (let number = 1; number <= maxPagesPerStar && left() > 0; number += 1) {
        const timeoutMs = limit(MAX_REQUEST_MS);
        const body = {
          product_id: link.id,
          page_start: number,
          page_size: pageSize,
          sort_rule: sortRules[state.reviews.clipSort],
          review_filter: { filter_type: filterType, filter_value: stars },
          component_name: componentName,
        };
        const query = { path: siteConfig.urls.reviews, body, timeoutMs };
        const text = await inTime(page.evaluate(askInPage, query), timeoutMs + TRANSFER_MS);
        visitSignal.throwIfAborted();
        const answer = typeof text === 'string' ? tryParseJson(text) : undefined;
        const data = asRecord(at(answer, 'data'));
        const list = asArray(data?.product_reviews);
        if (Number(at(answer, 'code')) !== 0 || !list) break;
        rating ??= readRating([data]);
        const before = reviews.size;
        for (const review of readReviews(list, link.id)) {
          if (review.rating === stars && !reviews.has(review.id)) reviews.set(review.id, review);
        }
        exhausted = data?.has_more === false || list.length === 0;
        // After a page with nothing new, further pages would bring nothing new either.
        if (exhausted || reviews.size === before) break;
        if (usableOf(reviews.values(), state.reviews).length >= state.reviews.clipReviewLimit) break;
      }
      walks.push({ stars, reviews: [...reviews.values()], exhausted });
    }

    try {
      const outcome = await browser.run({
        visit,
        signal,
        timeoutMs: Math.max(1, Math.round(state.deadline - clock.monotonic())),
        // In the form of the header; the first language is the browser's own.
        locale: options.acceptLanguage.split(/[,;]/, 1)[0],
      });
      // If a page has shown the product, a refused visit says nothing about the product.
      if (outcome.kind !== 'definitive' || !isWhole(found())) return outcome;
      return { kind: 'transient', code: 'upstream_refused', reason: outcome.reason };
    } catch (error) {
      // The product was shown before the page hung or crashed over its reviews.
      if (!shown || signal.aborted) throw error;
      return withReviews(shown);
    }
  };
}

/** Runs in the page: it may use nothing but its argument. Undefined if there is no usable reply. */
async function askInPage(query: { path: string; body: object; timeoutMs: number }): Promise<string | undefined> {
  try {
    const response = await fetch(query.path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      credentials: 'include',
      body: JSON.stringify(query.body),
      signal: AbortSignal.timeout(query.timeoutMs),
    });
    return response.ok ? await response.text() : undefined;
  } catch {
    // No reply, or none in time: the reviews of the page itself remain.
    return undefined;
  }
}

function outcomeOfUrl(current: string, asked: string, id: string, siteConfig: SiteConfig): ShopOutcome | undefined {
  const target = URL.parse(current);
  const origin = new URL(asked);
  if (!target || (target.origin === origin.origin && target.pathname === origin.pathname)) return undefined;
  return outcomeOfRedirect(target, id, siteConfig);
}
