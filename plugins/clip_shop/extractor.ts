import {
  createFallbackChain,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  isGatewayError,
  type PluginContext,
} from 'mediagate';
import { resolveFacts } from './facts.js';
import { finishProduct } from './finish.js';
import { LINK_FORMS, matchProduct } from './links.js';
import { BROWSER_RUNG, createMethods, groupsToAsk, type ProductCall } from './methods.js';
import { type Found, isReadable, isWhole, type ShopClimb } from './outcomes.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { agreedMeaning } from './requests.js';
import { REVIEW_OPTIONS, type ReviewOptions } from './review-walk.js';

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
    requestOptions: REVIEW_OPTIONS,
    match: matchProduct,
    methods: chain.methods,
    probeLinks,

    async extract({ link, options: wishes, signal, only }: ExtractCall<ReviewOptions>): Promise<Extraction> {
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
