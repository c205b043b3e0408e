import { matchedLink, metaTags } from 'mediagate';
import { matchProduct } from './links.js';
import { type FoundProduct, partOf } from './parse-product.js';
import { readText, readUrl } from './read-values.js';

/** A title that is the platform's own name is no product's. */
const SITE_TITLE = /^(?:tiktok shop|tiktok|tiktok - make your day|shop)$/i;
const SITE_SUFFIX = /[-|–]\s*TikTok Shop$/i;

/** What a page says about itself in its tags, where these name the requested product by its address. Never a price. */
export function readPageTags(html: string, id: string): FoundProduct | undefined {
  if (!html.includes('og:title')) return undefined;
  const tags = metaTags(html);
  if (![tags.get('og:url'), tags.get('canonical')].some((address) => leadsTo(address, id))) return undefined;
  const name = readText((tags.get('og:title') ?? tags.get('twitter:title'))?.replace(SITE_SUFFIX, ''));
  if (!name || SITE_TITLE.test(name)) return undefined;
  const description = readText(tags.get('og:description'));
  const image = readUrl(tags.get('og:image'));
  return partOf({
    product_id: id,
    name,
    ...(description && { description }),
    image_urls: image ? [image] : [],
    ...(image && { media: [{ url: image, kind: 'image' }] }),
  });
}

function leadsTo(address: string | undefined, id: string): boolean {
  const url = address ? URL.parse(address) : undefined;
  return url ? matchedLink(matchProduct(url))?.id === id : false;
}
