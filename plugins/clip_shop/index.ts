/*
 * Declares the extractor of TikTok Shop. It reads a product's page under each of its three URLs until one shows it, at
 * a cost of one request each. It opens a browser only if the price or the reviews are still missing and at least four
 * seconds of the budget are left.
 */

import {
  definePlugin,
  type ExtractCall,
  type Extractor,
  extractorFrom,
  type ItemMethod,
  type PluginContext,
} from 'mediagate/plugin';
import { assemble, explain, isEnough } from './assemble.js';
import { visitProduct } from './browser.js';
import { createPageFetch, type PageForm } from './fetch.js';
import { LINK_FORMS, matchProduct } from './links.js';
import { type ClipShopOptions, options, type ShopState } from './options.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { isReadable, isWhole } from './read/page.js';
import type { ProductPart } from './read/part.js';
import { REVIEW_OPTIONS, type ReviewOptions } from './read/reviews.js';
import { resolveProductLink } from './resolve.js';
import { siteConfigOf } from './site.js';

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
    mediaHosts: ['.tiktokcdn.com', '.tiktokcdn-us.com', '.tiktokcdn-eu.com', '.ttcdn-us.com', '.ibyteimg.com'],
    mediaHeaders: { 'user-agent': siteConfig.userAgent },
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
        run: (call, signal) => visitProduct(context, siteConfig, call, signal),
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
