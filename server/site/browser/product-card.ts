import { documentHead, gallery, longText } from './document-parts.js';
import { element, webLink } from './elements.js';
import { amount, price, whole } from './figures.js';
import { listAt, member, numberAt, textAt, textsAt } from './json-members.js';

/** What a shop link says of its product, and what buyers say. */
export function productParts(data: unknown): (HTMLElement | false)[] {
  const product = member(data, 'product');
  const pictures = textsAt(product, 'image_urls');
  return [
    documentHead(pictures[0], productWords(product)),
    gallery(pictures),
    reviewList('Best reviews', listAt(data, 'reviews.five_star')),
    reviewList('Worst reviews', listAt(data, 'reviews.one_star')),
  ];
}

function productWords(product: unknown): HTMLElement[] {
  const shop = textAt(product, 'shop.name');
  const text = textAt(product, 'description');
  const [average, ratings, sold, stock] = ['rating.average', 'rating.count', 'sold_count', 'stock'].map((path) =>
    numberAt(product, path),
  );
  const facts = [
    average !== undefined && `${amount(average)} of 5`,
    ratings !== undefined && `${whole(ratings)} ratings`,
    sold !== undefined && `${whole(sold)} sold`,
    stock !== undefined && `${whole(stock)} in stock`,
  ].filter((fact) => !!fact);
  return [
    element('h3', {}, webLink(textAt(product, 'url'), textAt(product, 'name') ?? 'Unnamed')),
    ...priceLine(product),
    ...(shop === undefined ? [] : [element('p', {}, 'From ', webLink(textAt(product, 'shop.url'), shop))]),
    ...(facts.length === 0 ? [] : [element('p', { class: 'small muted figures' }, facts.join(' · '))]),
    ...(text === undefined ? [] : [longText(text)]),
  ];
}

function priceLine(product: unknown): HTMLElement[] {
  const currency = textAt(product, 'price.currency');
  const [now, before] = ['price.amount', 'price.original_amount'].map((path) => numberAt(product, path));
  const words = now === undefined ? textAt(product, 'price.text') : price(now, currency);
  if (words === undefined) return [];
  const old = before !== undefined && before !== now && element('s', { class: 'muted small' }, price(before, currency));
  return [element('p', { class: 'figures' }, element('strong', {}, words), ' ', old)];
}

function reviewList(title: string, reviews: readonly unknown[]): HTMLElement | false {
  if (reviews.length === 0) return false;
  return element(
    'details',
    { open: true },
    element('summary', {}, `${title} (${reviews.length})`),
    element('ul', { class: 'reviews' }, ...reviews.map(reviewEntry)),
  );
}

function reviewEntry(review: unknown): HTMLElement {
  const facts = [textAt(review, 'author'), textAt(review, 'created_at')?.slice(0, 10), textAt(review, 'variant')];
  const rating = numberAt(review, 'rating') ?? 0;
  return element(
    'li',
    {},
    element('span', { class: 'small muted' }, [`${rating} of 5`, ...facts].filter((fact) => fact).join(' · ')),
    element('p', {}, textAt(review, 'text') ?? 'No text.'),
  );
}
