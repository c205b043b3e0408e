/*
 * Finds the product in the data that a page was rendered from, and decides what the page means: a product, a refusal by
 * the platform, a security check, or only meta tags. Places are recognized by their content and the product's id,
 * because names of routes change with each build. A page about another product never counts. Only tags whose URL is
 * that of the product are used, without a price. The data are parsed with numbers as numbers first, and again with
 * exact ids only if no node has the id.
 */

import {
  asId,
  asRecord,
  asRecords,
  asString,
  at,
  type DefinitiveCode,
  findAll,
  findJsonAfter,
  findPhrase,
  type JsonRecord,
  matchAddress,
  metaTags,
  type Outcome,
} from 'mediagate/plugin';
import { matchProduct } from '../links.js';
import type { SiteConfig } from '../site.js';
import { type ProductPart, partOf } from './part.js';
import { readProducts } from './product.js';
import { known, readText, readUrl } from './values.js';

/** One place of a page that holds the product. */
export interface ProductNode {
  /** The product itself, in either generation of the schema. */
  product: JsonRecord;
  /** The record around it: shop, reviews, categories. */
  around: JsonRecord;
}

/** What a page's data has about products. */
export type RouterData = ReturnType<typeof readRoot>;

/**
 * The data that the page was rendered from, out of the first of the named blobs that can be read. Route keys are build
 * templates, so a page is recognized by its content.
 */
export function readRouterData(html: string, id: string, blobs: readonly string[]): RouterData | undefined {
  for (const name of blobs) {
    const first = html.indexOf(name);
    if (first < 0) continue;
    const marker = new RegExp(`${name.replace(/\W/g, '\\$&')}(?:["'][^<>{]{0,200}>|["'\\]\\s]*=)`);
    // Ids are texts on every page that was seen. Only if no node has the id, the page is read again with exact numbers.
    const root = asRecord(findJsonAfter(html, marker, first, 'as_numbers')?.value);
    if (!root) continue;
    const data = readRoot(root, id);
    if (data.nodes.length > 0) return data;
    const exact = asRecord(findJsonAfter(html, marker, first)?.value);
    return exact ? readRoot(exact, id) : data;
  }
  return undefined;
}

function readRoot(root: JsonRecord, id: string) {
  const pages = asRecords(Object.values(asRecord(root.loaderData) ?? {})).filter((page) => asRecord(page.page_config));
  const components = pages.flatMap((page) => asRecords(at(page, 'page_config', 'components_map')));
  const holders = asRecords(components.map((component) => holderOf(component)));
  const copies = asRecords(pages.map((page) => at(page, 'page_config', 'global_data', 'product_info'))).map((copy) =>
    copy.product_info === undefined ? { ...copy, product_info: copy } : copy,
  );
  const places = [...holders, ...copies].flatMap((around) => nodeOf(around) ?? []);
  const own = places.filter(({ product }) => idOf(product) === id);
  // Older pages and wrapped ones hold the product elsewhere; it is recognized by its shape and its id.
  const nodes = own.length > 0 ? own : searchNodes(root, id);
  return {
    /** Places with the requested product, the fullest first. */
    nodes,
    /** Further parts of the page that hold its reviews, where they stand apart. */
    reviewParts: asRecords(components.filter(isReviewPart).map((component) => component.component_data)),
    /** Another product stands where the requested one should. */
    other: nodes.length === 0 && places.some(({ product }) => idOf(product) !== undefined),
    /** The component for the product is there, whatever it holds, or components bear no names to tell them by. */
    hasComponent:
      components.some(isProductComponent) || !components.some(({ component_type }) => asString(component_type)),
    /** The platform's own refusal in the place of the product. */
    refusal: [...holders, ...copies].flatMap((holder) => refusalOf(holder) ?? [])[0],
    /** The route, where the page says who is asking and for what. */
    page: pages[0],
  };
}

function isProductComponent({ component_type, component_name }: JsonRecord): boolean {
  return [component_type, component_name].some((name) => name === 'product_info' || name === 'product_detail');
}

function isReviewPart({ component_type, component_name }: JsonRecord): boolean {
  return [component_type, component_name].some((name) => /review/.test(asString(name) ?? ''));
}

function holderOf(component: JsonRecord): JsonRecord | undefined {
  const data = asRecord(component.component_data);
  if (!data) return undefined;
  if (asRecord(data.product_info)) return data;
  if (isProduct(data)) return { product_info: data };
  return isProductComponent(component) ? data : undefined;
}

/** Some pages wrap the product once more; the record around it is then a level deeper as well. */
function nodeOf(around: JsonRecord): ProductNode | undefined {
  const product = asRecord(around.product_info);
  const inner = asRecord(product?.product_info);
  if (inner && product && !isProduct(product)) return { product: inner, around: { ...around, ...product } };
  return product && { product, around };
}

function isProduct(record: JsonRecord): boolean {
  return asRecord(record.product_model) !== undefined || asRecord(record.product_base) !== undefined;
}

/** The id of a product; undefined if its places name different ones. */
function idOf(product: JsonRecord): string | undefined {
  const ids = [
    product.product_id,
    at(product, 'product_model', 'product_id'),
    at(product, 'product_base', 'product_id'),
  ];
  const [first, ...others] = ids.flatMap((id) => asId(id) ?? []);
  return others.every((id) => id === first) ? first : undefined;
}

function searchNodes(root: JsonRecord, id: string): ProductNode[] {
  const products = findAll(root, (record) => isProduct(record) && idOf(record) === id);
  return products.map((product) => {
    const isAround = (record: JsonRecord) => record.product_info === product || record.product_module === product;
    return { product, around: findAll(root, isAround)[0] ?? {} };
  });
}

function refusalOf(holder: JsonRecord): { code: number; message?: string } | undefined {
  const replies = [at(holder, 'product_info', 'base_resp'), holder.base_resp];
  const codes = [
    [holder.error_code, holder.error_message],
    ...replies.map((reply) => [at(reply, 'StatusCode'), at(reply, 'StatusMessage')]),
  ];
  for (const [value, message] of codes) {
    const code = Number(value);
    if (Number.isInteger(code) && code !== 0 && value !== true) return { code, message: asString(message) };
  }
  return undefined;
}

/** Parts of the document, the fullest first. */
export type ShopOutcome = Outcome<readonly ProductPart[]>;

/** Whether the parts name a product. */
export function isReadable(parts: readonly ProductPart[]): boolean {
  return parts.some(({ product }) => product.name);
}

/** Whether the parts have more of a product than the tags of a page. */
export function isWhole(parts: readonly ProductPart[]): boolean {
  return parts.some(({ product }) => product.name && (product.shop || product.price || product.variants));
}

/** The outcome of a page, whatever its status: the product, a refusal in its place, or its tags. */
export function outcomeOfPage(html: string, id: string, siteConfig: SiteConfig): ShopOutcome {
  if (!/\S/.test(html)) return { kind: 'transient', code: 'upstream_refused', reason: 'an empty answer' };
  const data = readRouterData(html, id, siteConfig.blobs);
  const parts = data ? readProducts(data, id, siteConfig.rawStats) : [];
  const refusal = data && meaningOf(data, html, siteConfig);
  if (isReadable(parts)) {
    const withdrawn = parts.some(({ notForSale }) => notForSale);
    const notes = [...(refusal ? [refusal.code] : []), ...(withdrawn ? ['not_for_sale'] : [])];
    return { kind: 'found', found: parts, limitations: notes };
  }
  if (refusal) return { kind: 'definitive', ...refusal };
  if (parts.some(({ notForSale }) => notForSale))
    return { kind: 'definitive', code: 'removed', reason: 'the product is not on sale any more' };
  const check = checkOf(html, siteConfig);
  if (check) return { kind: 'transient', code: 'bot_check', reason: check };
  if (data?.other) return { kind: 'transient', code: 'upstream_refused', reason: 'the page was about another product' };
  if (at(data?.page, 'bot_info', 'is_bot') === true)
    return { kind: 'transient', code: 'bot_check', reason: 'the page takes the visitor for a robot' };
  const tags = readPageTags(html, id);
  if (tags)
    return { kind: 'found', found: [...parts, tags], limitations: ['fallback_source: page_tags', 'metadata_only'] };
  if (data && !data.hasComponent) return { kind: 'definitive', code: 'removed', reason: 'the page shows no product' };
  return { kind: 'transient', code: 'upstream_changed', reason: 'the page’s data could not be read' };
}

/** A check that stands in place of the page. The word "captcha" alone is on every good page as well. */
function checkOf(html: string, { markers }: SiteConfig): string | undefined {
  if (markers.captcha.some((mark) => html.includes(mark))) return 'a security check in place of the page';
  return markers.challenge.some((mark) => html.includes(mark)) ? 'a challenge in place of the page' : undefined;
}

/** What the platform's own refusal means, if there is one. */
function meaningOf(
  { refusal, page }: RouterData,
  html: string,
  { errorCodes, phrases }: SiteConfig,
): { code: DefinitiveCode; reason: string } | undefined {
  if (!refusal) return undefined;
  const { code, message } = refusal;
  const seenFrom = asString(at(page, 'region_info', 'ip_region')) ?? asString(at(page, 'region_info', 'real_region'));
  const where = seenFrom ? `, seen from ${seenFrom}` : '';
  const reason = `${message ?? 'no message'} (${code}${where})`;
  if (errorCodes.region.includes(code) || findPhrase(message, phrases.region)) return { code: 'geo_blocked', reason };
  // The same code means a removed product or one that is not sold here; the text of the page decides.
  const shown = findPhrase(html, phrases.region);
  if (shown) return { code: 'geo_blocked', reason: `${shown}: ${reason}` };
  const gone = errorCodes.gone.includes(code) || findPhrase(message, phrases.gone);
  return { code: gone ? 'removed' : 'unavailable', reason };
}

/** Titles of the platform itself. */
const SITE_TITLE = /^(?:tiktok shop|tiktok|tiktok - make your day|shop)$/i;
const SITE_SUFFIX = /[-|–]\s*TikTok Shop$/i;

/** The product in a page's meta tags, if their URL is that of the requested one. Never a price. */
export function readPageTags(html: string, id: string): ProductPart | undefined {
  if (!html.includes('og:title')) return undefined;
  const tags = metaTags(html);
  if (![tags.get('og:url'), tags.get('canonical')].some((address) => matchAddress(matchProduct, address)?.id === id))
    return undefined;
  const name = readText((tags.get('og:title') ?? tags.get('twitter:title'))?.replace(SITE_SUFFIX, ''));
  if (!name || SITE_TITLE.test(name)) return undefined;
  const image = readUrl(tags.get('og:image'));
  return partOf(
    known({
      product_id: id,
      name,
      description: readText(tags.get('og:description')),
      image_urls: image ? [image] : [],
      media: image ? [{ url: image, kind: 'image' }] : undefined,
    }),
  );
}
