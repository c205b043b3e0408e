import {
  definePlugin,
  type ExtractCall,
  type Extractor,
  extractorFrom,
  type ItemMethod,
  type PluginContext,
  type Static,
  Type,
} from 'mediagate/plugin';
import { assemble, explain, isEnough } from './assemble.js';
import { createBrowserVisit } from './browser.js';
import { createPageFetch, type PageForm, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchProduct } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { isReadable, isWhole } from './read/page.js';
import type { ProductPart } from './read/product.js';
import { REVIEW_OPTIONS, type ReviewOptions } from './read/reviews.js';
import { resolveProductLink } from './resolve.js';

const options = Type.Object(
  {
    acceptLanguage: Type.String({
      default: 'en-US,en;q=0.9',
      minLength: 2,
      maxLength: 200,
      description: 'Languages of requested pages, as in the header `Accept-Language`.',
    }),
    pageTimeoutMs: Type.Integer({
      default: 7_000,
      minimum: 500,
      maximum: 60_000,
      description: 'Milliseconds for one plain page.',
    }),
    budgetMs: Type.Integer({
      default: 27_000,
      minimum: 1_000,
      maximum: 590_000,
      description:
        'Milliseconds for one product, all methods together; less than the `timeoutMs` of the entry (30,000 by default).',
    }),
    siteConfig: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Fields of site-config.json with other values, in the same shape.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type ClipShopOptions = Static<typeof options>;

/** What the methods of one call share. */
export interface ShopState {
  /** When everything must be over, in milliseconds of the monotonic clock. */
  deadline: number;
  reviews: ReviewOptions;
}

/** Milliseconds that a browser needs at least. */
const BROWSER_START_MS = 4_000;

const PAGES: readonly (readonly [name: string, form: PageForm])[] = [
  ['www_page', 'wwwPage'],
  ['shop_page', 'shopPage'],
  ['share_page', 'sharePage'],
];

/**
 * Reads a product's page under each of its URLs until one shows it, then opens the page in a real browser, which sees
 * more and gets the reviews page by page.
 * @throws TypeError if `options.siteConfig` does not fit the shipped configuration.
 */
export function createClipShopExtractor(context: PluginContext<ClipShopOptions>): Extractor {
  const { browser, clock } = context;
  const { budgetMs } = context.options;
  const siteConfig = siteConfigOf(context.options.siteConfig);
  const fetchPage = createPageFetch(context, siteConfig);

  return extractorFrom<ProductPart, ShopState>(context, {
    platform: 'clip_shop',
    displayName: 'TikTok Shop',
    linkForms: LINK_FORMS,
    background: true,
    requestOptions: REVIEW_OPTIONS,
    match: matchProduct,
    resolve: (call) => resolveProductLink({ http: context.http, userAgent: siteConfig.userAgent }, call),
    probeLinks,
    budgetMs,
    methodMs: budgetMs,
    begin: ({ options: reviews }: ExtractCall<ReviewOptions>) => ({ deadline: clock.monotonic() + budgetMs, reviews }),
    methods: [
      ...PAGES.map(
        ([name, form]): ItemMethod<ProductPart, ShopState> => ({
          name,
          cost: 1,
          definitive: true,
          usable: ({ found }) => !isWhole(found()),
          run: ({ link }, signal) => fetchPage(form, link, signal),
        }),
      ),
      {
        name: 'browser',
        cost: 20,
        definitive: true,
        available: () => browser.available,
        usable: ({ state }) => state.deadline - clock.monotonic() > BROWSER_START_MS,
        run: createBrowserVisit(context, siteConfig),
      },
    ],
    isEnough,
    isWorthwhile: isReadable,
    assemble: (run) => assemble(run, clock.now()),
    explain,
  });
}

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
