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
  type Clock,
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
export async function visitProduct(
  context: PluginContext<ClipShopOptions>,
  siteConfig: SiteConfig,
  call: ItemCall<ProductPart, ShopState>,
  signal: AbortSignal,
): Promise<ShopOutcome> {
  const { browser, clock, options } = context;
  const visit = new ProductVisit(clock, siteConfig, call);
  try {
    const outcome = await browser.run({
      visit: (page, visitSignal) => visit.run(page, visitSignal),
      signal,
      timeoutMs: Math.max(1, Math.round(call.state.deadline - clock.monotonic())),
      // In the form of the header; the first language is the browser's own.
      locale: options.acceptLanguage.split(/[,;]/, 1)[0],
    });
    // If a page has shown the product, a refused visit says nothing about the product.
    if (outcome.kind !== 'definitive' || !isWhole(call.found())) return outcome;
    return { kind: 'transient', code: 'upstream_refused', reason: outcome.reason };
  } catch (error) {
    // The product was shown before the page hung or crashed over its reviews.
    const { shown } = visit;
    if (!shown || signal.aborted) throw error;
    return shown;
  }
}

type Shown = Extract<ShopOutcome, { kind: 'found' }>;

class ProductVisit {
  readonly #clock: Clock;
  readonly #siteConfig: SiteConfig;
  readonly #call: ItemCall<ProductPart, ShopState>;
  readonly #walks: ReviewWalk[] = [];
  #rating: Rating | undefined;
  #shown: Shown | undefined;

  constructor(clock: Clock, siteConfig: SiteConfig, call: ItemCall<ProductPart, ShopState>) {
    this.#clock = clock;
    this.#siteConfig = siteConfig;
    this.#call = call;
  }

  /** What the page has shown so far, with the reviews; undefined if it has not shown the product. */
  get shown(): Shown | undefined {
    const outcome = this.#shown;
    if (!outcome || this.#walks.length === 0) return outcome;
    const part = partOf({ product_id: this.#call.link.id, ...(this.#rating && { rating: this.#rating }) });
    return { ...outcome, found: [...outcome.found, { ...part, walks: this.#walks }] };
  }

  async run(page: BrowserPage, signal: AbortSignal): Promise<ShopOutcome> {
    const siteConfig = this.#siteConfig;
    const { link, state, found } = this.#call;
    const url = pageUrl(siteConfig, 'shopPage', link);
    await page.goto(url, { waitUntil: 'domcontentloaded', timeout: Math.max(1, this.#left()) });
    const awaited = [...siteConfig.blobs.map((blob) => `#${blob}`), ...siteConfig.selectors.wall].join(', ');
    await page.waitForSelector(awaited, { state: 'attached', timeout: this.#limit(MAX_WAIT_MS) }).catch(() => {
      // Neither data nor a check: the content below is read anyway.
      signal.throwIfAborted();
    });
    const outcome =
      outcomeOfUrl(page.url(), url, link.id, siteConfig) ??
      outcomeOfPage(await this.#inTime(page.content(), this.#limit(MAX_REQUEST_MS)), link.id, siteConfig);
    if (outcome.kind !== 'found' || !isReadable(outcome.found)) return outcome;
    this.#shown = outcome;
    for (const stars of groupsToAsk([...found(), ...outcome.found], state.reviews))
      await this.#walkReviews(page, stars, signal);
    return this.shown ?? outcome;
  }

  #left(): number {
    return this.#call.state.deadline - CLOSING_MS - this.#clock.monotonic();
  }

  #limit(maxMs: number): number {
    return Math.max(1, Math.min(maxMs, this.#left()));
  }

  /** A page with an endless script does not answer, and its own timers do not run. */
  async #inTime<Answer>(answer: Promise<Answer>, timeoutMs: number): Promise<Answer> {
    const timer = new AbortController();
    const silence = this.#clock.sleep(timeoutMs, timer.signal).then((): never => {
      throw new GatewayError('upstream_timeout', 'The page does not answer.');
    });
    return Promise.race([answer, silence]).finally(() => timer.abort());
  }

  /** Fetches the reviews of one star group page by page, until there are enough, no more, or a refusal. */
  async #walkReviews(page: BrowserPage, stars: Stars, signal: AbortSignal): Promise<void> {
    const { link, state } = this.#call;
    const reviews = new Map<string, Review>();
    let exhausted = false;
    for (let number = 1; number <= this.#siteConfig.reviews.maxPagesPerStar && this.#left() > 0; number += 1) {
      const answer = await this.#askForReviews(page, stars, number);
      signal.throwIfAborted();
      const data = asRecord(at(answer, 'data'));
      const list = asArray(data?.product_reviews);
      if (Number(at(answer, 'code')) !== 0 || !list) break;
      this.#rating ??= readRating([data]);
      const before = reviews.size;
      for (const review of readReviews(list, link.id)) {
        if (review.rating === stars && !reviews.has(review.id)) reviews.set(review.id, review);
      }
      exhausted = data?.has_more === false || list.length === 0;
      // After a page with nothing new, further pages would bring nothing new either.
      if (exhausted || reviews.size === before) break;
      if (usableOf(reviews.values(), state.reviews).length >= state.reviews.clipReviewLimit) break;
    }
    this.#walks.push({ stars, reviews: [...reviews.values()], exhausted });
  }

  /** Undefined if there is no usable reply. */
  async #askForReviews(page: BrowserPage, stars: Stars, number: number): Promise<unknown> {
    const { urls, reviews } = this.#siteConfig;
    const { pageSize, componentName, filterType, sortRules } = reviews;
    const { link, state } = this.#call;
    const timeoutMs = this.#limit(MAX_REQUEST_MS);
    const body = {
      product_id: link.id,
      page_start: number,
      page_size: pageSize,
      sort_rule: sortRules[state.reviews.clipSort],
      review_filter: { filter_type: filterType, filter_value: stars },
      component_name: componentName,
    };
    const query = { path: urls.reviews, body, timeoutMs };
    const text = await this.#inTime(page.evaluate(askInPage, query), timeoutMs + TRANSFER_MS);
    return typeof text === 'string' ? tryParseJson(text) : undefined;
  }
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
