/*
 * Displays a product: its pictures and video, price, ratings by stars, variants, and its best and worst reviews with
 * their pictures. Names and texts of sellers and reviewers are text of strangers, each in its own direction. Fields that
 * an answer lacks are omitted.
 */

import { amount, element, price, webLink, whole } from '../elements.js';
import { fieldAt, listAt, numberAt, textAt, textsAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { carousel, type Slide } from './carousel.js';
import {
  dateOf,
  longText,
  type MediaLinks,
  mediaHead,
  mediaLinksOf,
  pictureOf,
  ratioOf,
  slidesOf,
} from './document-parts.js';

const t = textsOf('playground-links');

/** A product of a shop link, and its reviews. */
export function productParts(data: unknown): (HTMLElement | false)[] {
  const product = fieldAt(data, 'product');
  const links = mediaLinksOf(listAt(product, 'media'));
  const videos = textsAt(product, 'video_urls').filter((url) => url.startsWith('https:'));
  // The best one; the others are the same in other sizes.
  const film = videos.slice(0, 1).map((url): Slide => ({ kind: 'video', src: links.get(url) ?? url }));
  const urls = textsAt(product, 'image_urls');
  const ratio = ratioOf(listAt(product, 'media'), urls);
  const seen = carousel([...slidesOf(urls, links), ...film], t.pictures, ratio);
  const bars = ratingBars(product);
  const variants = variantList(product, links);
  const reviews = [
    reviewList(t.bestReviews, listAt(data, 'reviews.five_star'), links),
    reviewList(t.worstReviews, listAt(data, 'reviews.one_star'), links),
  ].filter((list) => list !== false);
  return [
    mediaHead(seen ? [seen] : [], productWords(product), (ratio ?? 1) >= 1, variants ? [variants] : []),
    (bars || reviews.length > 0) &&
      element(
        'div',
        { class: 'opinions' },
        bars,
        reviews.length > 0 && element('div', { class: 'stack-small' }, ...reviews),
      ),
  ];
}

/** How many ratings have 5, 4, 3, 2 and 1 stars. */
function ratingBars(product: unknown): HTMLElement | false {
  const counts = [5, 4, 3, 2, 1].map((stars) => ({
    stars,
    count: numberAt(product, `rating.distribution.${stars}`) ?? 0,
  }));
  const most = Math.max(...counts.map(({ count }) => count));
  if (most === 0) return false;
  const rows = counts.map(({ stars, count }) =>
    element(
      'div',
      {},
      element('dt', {}, fill(t.stars, { stars })),
      element(
        'dd',
        {},
        element('progress', { value: String(count), max: String(most), 'aria-hidden': 'true' }),
        element('span', { class: 'figures' }, whole(count)),
      ),
    ),
  );
  return element('section', {}, element('h4', {}, t.byStars), element('dl', { class: 'rating-bars small' }, ...rows));
}

function variantList(product: unknown, links: MediaLinks): HTMLElement | false {
  const variants = listAt(product, 'variants');
  if (variants.length === 0) return false;
  const currency = textAt(product, 'price.currency');
  return element(
    'details',
    { open: variants.length <= 8 },
    element('summary', {}, fill(t.variants, { count: whole(variants.length) })),
    element(
      'ul',
      { class: 'variants', tabindex: '0', 'aria-label': fill(t.variants, { count: whole(variants.length) }) },
      ...variants.map((variant) => variantEntry(variant, currency, links)),
    ),
  );
}

function variantEntry(variant: unknown, currency: string | undefined, links: MediaLinks): HTMLElement {
  const image = textAt(variant, 'image');
  const properties = listAt(variant, 'properties').map((one) => textAt(one, 'value'));
  const name = textAt(variant, 'name') ?? properties.filter((value) => value !== undefined).join(', ');
  const [now, stock] = [numberAt(variant, 'price'), numberAt(variant, 'stock')];
  const facts = [
    now !== undefined && price(now, currency),
    stock !== undefined && (stock === 0 ? t.soldOut : fill(t.inStock, { count: whole(stock) })),
  ].filter((fact) => !!fact);
  const picture = image?.startsWith('https:') === true && pictureOf(image, links, 'variant-picture', false);
  return element(
    'li',
    {},
    picture,
    element('bdi', {}, name || t.unnamed),
    element('span', { class: 'small muted figures' }, facts.join(' · ')),
  );
}

function productWords(product: unknown): HTMLElement[] {
  const shop = textAt(product, 'shop.name');
  const text = textAt(product, 'description');
  const [average, ratings, sold, stock] = ['rating.average', 'rating.count', 'sold_count', 'stock'].map((path) =>
    numberAt(product, path),
  );
  const facts = [
    average !== undefined && fill(t.ofFive, { rating: amount(average) }),
    ratings !== undefined && fill(t.ratings, { count: whole(ratings) }),
  ].filter((fact) => !!fact);
  const counts = [[t.sold, sold] as const, [t.stock, stock] as const].flatMap(([name, count]) =>
    count === undefined ? [] : [element('div', {}, element('dt', {}, name), element('dd', {}, whole(count)))],
  );
  return [
    element('h3', { dir: 'auto' }, webLink(textAt(product, 'url'), textAt(product, 'name') ?? t.unnamed)),
    ...priceLine(product),
    ...(shop === undefined ? [] : [element('p', {}, `${t.from} `, webLink(textAt(product, 'shop.url'), shop))]),
    ...(facts.length === 0 ? [] : [element('p', { class: 'small figures' }, starsOf(average), facts.join(' · '))]),
    ...(counts.length === 0 ? [] : [element('dl', { class: 'metrics' }, ...counts)]),
    ...(text === undefined ? [] : [longText(text)]),
  ];
}

/** A drawing of a rating, which the words beside it say. */
function starsOf(rating: number | undefined): HTMLElement | false {
  if (rating === undefined) return false;
  const drawn = element('span', { class: 'stars', 'aria-hidden': 'true' }, '★★★★★');
  drawn.style.setProperty('--part', `${rating * 20}%`);
  return element('span', {}, drawn, ' ');
}

function priceLine(product: unknown): HTMLElement[] {
  const currency = textAt(product, 'price.currency');
  const [now, before] = ['price.amount', 'price.original_amount'].map((path) => numberAt(product, path));
  const words = now === undefined ? textAt(product, 'price.text') : price(now, currency);
  if (words === undefined) return [];
  const parts: (Node | string)[] = [element('strong', {}, words)];
  if (before !== undefined && before !== now) {
    parts.push(' ', element('s', { class: 'muted small' }, price(before, currency)));
    if (now !== undefined && now < before) {
      parts.push(' ', element('span', { class: 'badge badge-good' }, `−${whole(100 - (100 * now) / before)}%`));
    }
  }
  return [element('p', { class: 'figures' }, ...parts)];
}

function reviewList(title: string, reviews: readonly unknown[], links: MediaLinks): HTMLElement | false {
  if (reviews.length === 0) return false;
  return element(
    'details',
    { open: true },
    element('summary', {}, fill(title, { count: reviews.length })),
    element('ul', { class: 'reviews' }, ...reviews.map((review) => reviewEntry(review, links))),
  );
}

function reviewEntry(review: unknown, links: MediaLinks): HTMLElement {
  const createdAt = textAt(review, 'created_at');
  const facts = [textAt(review, 'author'), createdAt && dateOf(createdAt), textAt(review, 'variant')];
  const rating = numberAt(review, 'rating') ?? 0;
  return element(
    'li',
    {},
    element(
      'span',
      { class: 'small muted' },
      starsOf(rating),
      [fill(t.ofFive, { rating }), ...facts].filter((fact) => fact).join(' · '),
    ),
    ' ',
    fieldAt(review, 'verified_purchase') === true && element('span', { class: 'badge badge-good' }, t.verifiedPurchase),
    element('p', { dir: 'auto' }, textAt(review, 'text') ?? t.noText),
    reviewPhotos(review, links),
  );
}

function reviewPhotos(review: unknown, links: MediaLinks): HTMLElement | false {
  const urls = textsAt(review, 'images').filter((url) => url.startsWith('https:'));
  if (urls.length === 0) return false;
  const entries = urls.map((url, index) => {
    const link = webLink(links.get(url) ?? url, '', { 'aria-label': fill(t.reviewPhoto, { number: index + 1 }) });
    link.replaceChildren(pictureOf(url, links));
    return element('li', {}, link);
  });
  return element('ul', { class: 'review-photos' }, ...entries);
}
