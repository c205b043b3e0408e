import {
  type Browser,
  type BrowserPage,
  type Clock,
  GatewayError,
  type ItemCall,
  type Outcome,
  tryParseJson,
} from 'mediagate/plugin';
import { outcomeOfRedirect, pageUrl, type SiteConfig } from './fetch.js';
import type { ShopState } from './index.js';
import { isReadable, isWhole, outcomeOfPage, type ShopOutcome } from './read/page.js';
import { type ProductPart, partOf } from './read/product.js';
import {
  groupsToAsk,
  type ReviewQuery,
  type ReviewWalk,
  STAR_GROUPS,
  type Stars,
  walkReviews,
} from './read/reviews.js';

export interface BrowserVisitSettings {
  browser: Browser;
  clock: Clock;
  siteConfig: SiteConfig;
  /** In the form of the header; the first language is the browser's own. */
  acceptLanguage: string;
}

/** Milliseconds reserved for closing the browser and answering. */
const CLOSING_MS = 500;
const MAX_WAIT_MS = 8_000;
const MAX_REQUEST_MS = 6_000;
/** Milliseconds that a reply may take from the page to here. */
const TRANSFER_MS = 250;

/** A page with the product on it. */
type Shown = Extract<Outcome<readonly ProductPart[]>, { kind: 'found' }>;

/**
 * Opens a product's page in a browser and lets the page's own code, which signs its requests, fetch the reviews. The
 * product is returned even if reviews are refused.
 */
export function createBrowserVisit({ browser, clock, siteConfig, acceptLanguage }: BrowserVisitSettings) {
  return async function visitProduct(
    { link, state, found }: ItemCall<ProductPart, ShopState>,
    signal: AbortSignal,
  ): Promise<ShopOutcome> {
    const left = () => state.deadline - CLOSING_MS - clock.monotonic();
    const limit = (maxMs: number) => Math.max(1, Math.min(maxMs, left()));
    const url = pageUrl(siteConfig, 'shopPage', link);
    const walks: ReviewWalk[] = [];
    let shown: Shown | undefined;

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
      await walkGroups(page, groupsToAsk([...found(), ...outcome.found], state.reviews), visitSignal);
      return withReviews(outcome);
    }

    function withReviews(outcome: Shown): ShopOutcome {
      if (walks.length === 0) return outcome;
      const [rating] = walks.flatMap((walk) => walk.rating ?? []);
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

    async function walkGroups(page: BrowserPage, groups: readonly Stars[], visitSignal: AbortSignal): Promise<void> {
      const ask = async (query: ReviewQuery) => {
        const timeoutMs = limit(MAX_REQUEST_MS);
        const text = await inTime(page.evaluate(askInPage, { ...query, timeoutMs }), timeoutMs + TRANSFER_MS);
        visitSignal.throwIfAborted();
        return typeof text === 'string' ? tryParseJson(text) : undefined;
      };
      for (const stars of STAR_GROUPS.filter((one) => groups.includes(one))) {
        walks.push(
          await walkReviews({ id: link.id, stars, options: state.reviews, siteConfig, ask, hasTime: () => left() > 0 }),
        );
      }
    }

    try {
      const outcome = await browser.run({
        visit,
        signal,
        timeoutMs: Math.max(1, Math.round(state.deadline - clock.monotonic())),
        locale: acceptLanguage.split(/[,;]/, 1)[0],
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
async function askInPage({ path, body, timeoutMs }: ReviewQuery & { timeoutMs: number }): Promise<string | undefined> {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      credentials: 'include',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
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
