import { type Browser, type BrowserPage, type Clock, GatewayError, tryParseJson } from 'mediagate';
import type { Facts } from './facts.js';
import { isReadable, outcomeOfPage, type ShopOutcome } from './outcomes.js';
import { partOf } from './parse-product.js';
import { outcomeOfRedirect, pageAddress, type Wanted } from './requests.js';
import {
  type ReviewOptions,
  type ReviewQuery,
  type ReviewWalk,
  STAR_GROUPS,
  type Stars,
  walkReviews,
} from './review-walk.js';

export interface BrowserVisitSettings {
  browser: Browser;
  clock: Clock;
  facts: Facts;
  /** As the header has it; the first language is the browser's own. */
  acceptLanguage: string;
}

export interface BrowserVisitCall {
  wanted: Wanted;
  options: ReviewOptions;
  /** Star groups that are worth asking for. */
  groups(found: ShopOutcome): readonly Stars[];
  /** When the visit must be over, on the clock that never jumps. */
  deadline: number;
  signal: AbortSignal;
}

/** Milliseconds that closing and answering take. */
const CLOSING_MS = 500;
const LONGEST_WAIT_MS = 8_000;
const LONGEST_ASK_MS = 6_000;
/** Milliseconds that an answer may take from the page to here. */
const ANSWERING_MS = 250;

/** A page with the product on it. */
type Shown = Extract<ShopOutcome, { kind: 'found' }>;

/**
 * Opens a product's page in a browser and lets the page's own code, which signs what it asks, fetch the reviews. What was
 * found is kept when reviews are refused.
 */
export function createBrowserVisit({ browser, clock, facts, acceptLanguage }: BrowserVisitSettings) {
  return async function visitProduct(call: BrowserVisitCall): Promise<ShopOutcome> {
    const { wanted, deadline, signal } = call;
    const left = () => deadline - CLOSING_MS - clock.monotonic();
    const address = pageAddress(facts, 'shopPage', wanted);
    const walks: ReviewWalk[] = [];
    let shown: Shown | undefined;

    async function visit(page: BrowserPage, visitSignal: AbortSignal): Promise<ShopOutcome> {
      await page.goto(address, { waitUntil: 'domcontentloaded', timeout: Math.max(1, left()) });
      const awaited = [...facts.blobs.map((blob) => `#${blob}`), ...facts.selectors.wall].join(', ');
      const wait = Math.max(1, Math.min(LONGEST_WAIT_MS, left()));
      await page.waitForSelector(awaited, { state: 'attached', timeout: wait }).catch(() => {
        // Neither data nor a wall: what there is instead shows below.
        visitSignal.throwIfAborted();
      });
      const content = () => answered(page.content(), Math.max(1, Math.min(LONGEST_ASK_MS, left())));
      const outcome =
        ledElsewhere(page.url(), address, wanted.id, facts) ?? outcomeOfPage(await content(), wanted.id, facts);
      if (outcome.kind !== 'found' || !isReadable(outcome.found.parts)) return outcome;
      shown = outcome;
      await walkGroups(page, call.groups(outcome), visitSignal);
      return withReviews(outcome);
    }

    function withReviews(outcome: Shown): ShopOutcome {
      const [rating] = walks.flatMap((walk) => walk.rating ?? []);
      const parts = [...outcome.found.parts, ...(rating ? [partOf({ product_id: wanted.id, rating })] : [])];
      return { ...outcome, found: { parts, walks } };
    }

    /** A page whose scripts never end does not answer, and its timers and its `fetch` are its own. */
    async function answered<Answer>(answer: Promise<Answer>, timeoutMs: number): Promise<Answer> {
      const timer = new AbortController();
      const silence = clock.sleep(timeoutMs, timer.signal).then((): never => {
        throw new GatewayError('upstream_timeout', 'The page does not answer.');
      });
      return Promise.race([answer, silence]).finally(() => timer.abort());
    }

    async function walkGroups(page: BrowserPage, groups: readonly Stars[], visitSignal: AbortSignal): Promise<void> {
      const ask = async (query: ReviewQuery) => {
        const timeoutMs = Math.max(1, Math.min(LONGEST_ASK_MS, left()));
        const text = await answered(page.evaluate(askInPage, { ...query, timeoutMs }), timeoutMs + ANSWERING_MS);
        visitSignal.throwIfAborted();
        return typeof text === 'string' ? tryParseJson(text) : undefined;
      };
      for (const stars of STAR_GROUPS.filter((one) => groups.includes(one))) {
        walks.push(
          await walkReviews({ id: wanted.id, stars, options: call.options, facts, ask, hasTime: () => left() > 0 }),
        );
      }
    }

    try {
      return await browser.run({
        visit,
        signal,
        timeoutMs: Math.max(1, Math.round(deadline - clock.monotonic())),
        locale: acceptLanguage.split(/[,;]/, 1)[0],
      });
    } catch (error) {
      // A page that hangs or crashes over its reviews has shown the product all the same.
      if (!shown || signal.aborted) throw error;
      return withReviews(shown);
    }
  };
}

/** Runs in the page: it may use nothing but its argument. Undefined where there is no usable answer. */
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
    // No answer, or none in time: the reviews of the page itself remain.
    return undefined;
  }
}

function ledElsewhere(current: string, asked: string, id: string, facts: Facts): ShopOutcome | undefined {
  const target = URL.parse(current);
  const origin = new URL(asked);
  if (!target || (target.origin === origin.origin && target.pathname === origin.pathname)) return undefined;
  return outcomeOfRedirect(target, id, facts);
}
