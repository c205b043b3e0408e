import {
  type Browser,
  type Clock,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type ExtractOptions,
  type Extractor,
  type FactsOverride,
  GatewayError,
  isGatewayError,
  type Method,
  type PluginContext,
  Type,
} from 'mediagate';
import { finishProduct } from './assemble.js';
import { createBrowserVisit } from './browser.js';
import {
  agreedMeaning,
  createPageFetch,
  type Facts,
  type PageForm,
  type RequestSettings,
  resolveFacts,
  type Wanted,
} from './fetch.js';
import { LINK_FORMS, matchProduct } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { type Found, isReadable, isWhole, type ShopClimb, type ShopOutcome } from './read/page.js';
import { type FoundProduct } from './read/product.js';
import { groupReviews, type ReviewGroup, type ReviewWalk, STAR_GROUPS, type Stars } from './read/reviews.js';

const options = Type.Object(
  {
    /** Languages that pages are asked for, as the header `accept-language` has them. */
    acceptLanguage: Type.String({ default: 'en-US,en;q=0.9', minLength: 2, maxLength: 200 }),
    /** Milliseconds that one plain page may take. */
    pageTimeoutMs: Type.Integer({ default: 7_000, minimum: 500, maximum: 60_000 }),
    /** Milliseconds for one product, all ways together. Must stay below the entry's `timeoutMs` (30,000 by default). */
    budgetMs: Type.Integer({ default: 27_000, minimum: 1_000, maximum: 590_000 }),
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public products of TikTok Shop, with their reviews. */
export default definePlugin<typeof options>({
  name: 'clip_shop',
  apiVersion: 1,
  summary: 'Public products of TikTok Shop: price, variants, stock, shop, pictures, ratings and reviews.',
  provides: ['extractor'],
  wants: ['browser'],
  options,
  setup: (context) => ({ extractors: [createClipShopExtractor(context)] }),
});

const PLATFORM = 'clip_shop';

export interface ClipShopOptions {
  acceptLanguage: string;
  pageTimeoutMs: number;
  budgetMs: number;
  facts?: FactsOverride;
}

/** @throws TypeError where `options.facts` does not fit the shipped facts. */
export function createClipShopExtractor(context: PluginContext<ClipShopOptions>): Extractor {
  const { http, browser, clock, logger, options } = context;
  const { acceptLanguage, pageTimeoutMs, budgetMs } = options;
  const facts = resolveFacts(options.facts);
  const chain = createFallbackChain<Found, ProductCall>({
    platform: PLATFORM,
    clock,
    logger,
    budgetMs,
    methodMs: budgetMs,
    methods: createMethods({ http, browser, clock, facts, acceptLanguage, pageTimeoutMs }),
    isEnough: (parts, call) => {
      const found = parts.flatMap((part) => part.found.parts);
      const priced = found.some(({ product }) => product.price?.amount !== undefined);
      const hidden = !priced && found.some(({ masked }) => masked);
      return isWhole(found) && !hidden && groupsToAsk([...call.outcomes.values()], call.options).length === 0;
    },
    isWorthwhile: (parts) => isReadable(parts.flatMap((part) => part.found.parts)),
  });

  return {
    platform: PLATFORM,
    displayName: 'TikTok Shop',
    linkForms: LINK_FORMS,
    background: true,
    match: matchProduct,
    methods: chain.methods,
    probeLinks,

    async extract({ link, options: wishes, signal, only }: ExtractCall): Promise<Extraction> {
      const call: ProductCall = {
        wanted: { id: link.id, ...(link.region && { region: link.region }) },
        options: wishes,
        deadline: clock.monotonic() + budgetMs,
        outcomes: new Map(),
      };
      const climb = await chain.run(call, signal, only).catch((error: unknown) => {
        throw isGatewayError(error) ? asAgreed(error, call) : error;
      });
      refuseTagsAlone(climb);
      const { data, limitations } = finishProduct({ climb, link, options: wishes, now: clock.now() });
      const failed = climb.attempts.some(
        ({ method, outcome }) => method === BROWSER_RUNG && outcome !== 'ok' && outcome !== 'skipped',
      );
      return {
        method: [...new Set(climb.parts.map(({ method }) => method))].join('+'),
        data,
        limitations,
        partial: failed || !isWhole(climb.parts.flatMap(({ found }) => found.parts)),
      };
    },
  };
}

/** What the tags of one page say is no product to show where another page says why there is none. */
function refuseTagsAlone({ parts, restriction, attempts }: ShopClimb): void {
  if (!restriction || isWhole(parts.flatMap(({ found }) => found.parts))) return;
  const { code, reason } = restriction;
  throw new GatewayError(code, 'The product is not shown.', { platform: PLATFORM, reason, attempts });
}

/** Each address alone may be the wrong one; where all of them refuse alike, that is the answer. */
function asAgreed(error: GatewayError, { outcomes }: ProductCall): GatewayError {
  const asked = (error.attempts ?? []).filter(({ outcome }) => outcome !== 'skipped');
  const meaning = asked.length > 1 ? agreedMeaning(asked.map(({ method }) => outcomes.get(method))) : undefined;
  if (!meaning) return error;
  return new GatewayError(meaning.code, 'No address of the product leads to it.', {
    platform: PLATFORM,
    reason: meaning.reason,
    attempts: error.attempts,
    cause: error,
  });
}

export const BROWSER_RUNG = 'browser';

/** One product to be had, and what is known of it so far. */
export interface ProductCall {
  wanted: Wanted;
  options: ExtractOptions;
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
export function groupsOf(found: readonly Found[], options: ExtractOptions): Record<Stars, ReviewGroup> {
  const parts = found.flatMap((one) => one.parts);
  const walks: ReviewWalk[] = found.flatMap((one) => one.walks ?? []);
  const inPages = parts.flatMap(({ reviews }) => reviews);
  const distribution = parts.find(({ product }) => product.rating?.distribution)?.product.rating?.distribution;
  const group = (stars: Stars) =>
    groupReviews({ stars, inPages, walks, total: distribution?.[String(stars)], options });
  return { 5: group(5), 1: group(1) };
}

/** Groups that have fewer reviews than wanted, or not those that the wanted order begins with. */
export function groupsToAsk(outcomes: readonly ShopOutcome[], options: ExtractOptions): readonly Stars[] {
  const groups = groupsOf(foundIn(outcomes), options);
  return STAR_GROUPS.filter((stars) => groups[stars].reviews.length < groups[stars].wanted || !groups[stars].asked);
}
