import { asString, at, type ChainResult, type DefinitiveCode, type Outcome } from 'mediagate';
import type { Facts } from './facts.js';
import { readPageTags } from './page-tags.js';
import { type FoundProduct, readProducts } from './parse-product.js';
import type { ReviewWalk } from './review-walk.js';
import { type RouterData, readRouterData } from './router-data.js';

/** What a method finds: parts of the document, the fullest first, and the reviews it was given page by page. */
export interface Found {
  parts: readonly FoundProduct[];
  walks?: readonly ReviewWalk[];
}

export type ShopOutcome = Outcome<Found>;
export type ShopClimb = ChainResult<Found>;

/** What an error code of the platform means, by the codes and the words that the facts list. */
export interface Refusal {
  code: DefinitiveCode;
  reason: string;
}

/** Whether a product is told well enough to be one: by its name. */
export function isReadable(parts: readonly FoundProduct[]): boolean {
  return parts.some(({ product }) => product.name);
}

/** Whether more is known than the tags of a page say. */
export function isWhole(parts: readonly FoundProduct[]): boolean {
  return parts.some(({ product }) => product.name && (product.shop || product.price || product.variants));
}

/** What a page amounts to, whatever its status says: the product, a refusal in its place, or its tags. */
export function outcomeOfPage(html: string, id: string, facts: Facts): ShopOutcome {
  if (!/\S/.test(html)) return { kind: 'transient', code: 'upstream_refused', reason: 'an empty answer' };
  const data = readRouterData(html, id, facts.blobs);
  const parts = data ? readProducts(data, id) : [];
  const refusal = data?.refusal && meaningOf(data.refusal, data, html, facts);
  if (isReadable(parts)) {
    const withdrawn = parts.some(({ notForSale }) => notForSale);
    const notes = [...(refusal ? [refusal.code] : []), ...(withdrawn ? ['not_for_sale'] : [])];
    return { kind: 'found', found: { parts }, limitations: notes };
  }
  if (refusal) return { kind: 'definitive', ...refusal };
  if (parts.some(({ notForSale }) => notForSale))
    return { kind: 'definitive', code: 'removed', reason: 'the product is not on sale any more' };
  const wall = wallOf(html, facts);
  if (wall) return { kind: 'transient', code: 'bot_check', reason: wall };
  if (data?.other) return { kind: 'transient', code: 'upstream_refused', reason: 'the page was about another product' };
  if (at(data?.page, 'bot_info', 'is_bot') === true)
    return { kind: 'transient', code: 'bot_check', reason: 'the page holds the visitor for a robot' };
  const tags = readPageTags(html, id);
  if (tags)
    return {
      kind: 'found',
      found: { parts: [...parts, tags] },
      limitations: ['fallback_source: page_tags', 'metadata_only'],
    };
  if (data && !data.hasComponent) return { kind: 'definitive', code: 'removed', reason: 'the page shows no product' };
  return { kind: 'transient', code: 'upstream_changed', reason: 'the page’s data could not be read' };
}

/** A check that stands in place of the page. The word "captcha" alone is on every good page as well. */
function wallOf(html: string, { markers }: Facts): string | undefined {
  if (markers.captcha.some((mark) => html.includes(mark))) return 'a security check in place of the page';
  return markers.challenge.some((mark) => html.includes(mark)) ? 'a challenge in place of the page' : undefined;
}

function meaningOf(
  { code, message }: NonNullable<RouterData['refusal']>,
  { page }: RouterData,
  html: string,
  { errorCodes, phrases }: Facts,
): Refusal {
  const says = (text: string, words: readonly string[]) => {
    const lower = text.toLowerCase();
    return words.find((phrase) => lower.includes(phrase));
  };
  const seenFrom = asString(at(page, 'region_info', 'ip_region')) ?? asString(at(page, 'region_info', 'real_region'));
  const where = seenFrom ? `, seen from ${seenFrom}` : '';
  const reason = `${message ?? 'no message'} (${code}${where})`;
  if (errorCodes.region.includes(code) || says(message ?? '', phrases.region)) return { code: 'geo_blocked', reason };
  // The same code stands for what is gone and for what is not sold here; the page that is shown for it tells.
  const shown = says(html, phrases.region);
  if (shown) return { code: 'geo_blocked', reason: `${shown}: ${reason}` };
  const gone = errorCodes.gone.includes(code) || says(message ?? '', phrases.gone);
  return { code: gone ? 'removed' : 'unavailable', reason };
}
