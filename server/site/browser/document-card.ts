/*
 * Displays an answer of the extraction route for people: a post with its numbers, players, pictures and files, or a
 * product with its best and worst reviews. Files come through the media links of the gateway, which work where a
 * platform refuses other addresses or pages. Without such a link, they are loaded from the platform, pictures without a
 * referrer; a picture that fails is removed. Fields that an answer lacks are omitted, and a rounded number is marked as
 * such.
 */

import { amount, clock, element, price, webLink, whole } from './elements.js';
import { cutForm, downloadButtons, fileList } from './media-downloads.js';
import { fieldAt, listAt, numberAt, ownAddress, textAt, textsAt } from './requests.js';
import { fill, textsOf } from './texts.js';
import { transcriptSection } from './transcript.js';
import { chapterList, type Player, postPlayer } from './video-player.js';

const t = textsOf('playground-links');

/** Whose document it is. */
interface CardOptions {
  /** The request, which is sent again for a transcript. */
  body: Readonly<Record<string, unknown>>;
  /** Name of the platform. */
  platform: string;
}

/** An answer of the extraction route, for people. */
export function documentCard(answer: unknown, options: CardOptions): HTMLElement {
  const data = fieldAt(answer, 'data');
  const parts = fieldAt(data, 'product') ? productParts(data) : postParts(data, options);
  return element('article', { class: 'card document' }, ...parts);
}

/** Address of the file in a browser → the media link of the gateway, on this origin. */
type MediaLinks = ReadonlyMap<string, string>;

function mediaLinksOf(entries: readonly unknown[]): MediaLinks {
  const links = new Map<string, string>();
  for (const entry of entries) {
    const [url, own] = ['url', 'proxy_url'].map((name) => textAt(entry, name));
    if (url !== undefined && own !== undefined) links.set(url, new URL(ownAddress(own), location.href).href);
  }
  return links;
}

const METRICS = ['views', 'plays', 'likes', 'comments', 'shares', 'saves', 'subscriber_count'] as const;

function postParts(data: unknown, { body, platform }: CardOptions): (HTMLElement | false)[] {
  const thumbnail = textAt(data, 'common.thumbnail') ?? textsAt(data, 'media.image_urls')[0];
  const links = mediaLinksOf(listAt(data, 'media.entries'));
  const poster = thumbnail?.startsWith('https:') ? (links.get(thumbnail) ?? thumbnail) : undefined;
  const shown = postPlayer(data, { links, poster, platform });
  const player = shown && 'playFrom' in shown ? shown : undefined;
  const isSeen = shown?.element.querySelector('video') != null;
  const spoken = spokenParts(data, body, player);
  const watched = element(
    'div',
    { class: spoken.length > 0 ? 'document-watch document-watch-spoken' : 'document-watch' },
    element('div', { class: 'stack' }, shown?.element, downloadButtons(data), player !== undefined && cutForm(data)),
    spoken.length > 0 && element('div', { class: 'stack' }, ...spoken),
  );
  return [
    documentHead(isSeen ? undefined : thumbnail, postWords(data), links),
    watched,
    postMetrics(data),
    gallery(textsAt(data, 'media.image_urls'), links),
    fileList(data),
  ];
}

/** What is said and where, of an item with sound. */
function spokenParts(
  data: unknown,
  body: Readonly<Record<string, unknown>>,
  player: Player | undefined,
): (HTMLElement | false)[] {
  const hasSubtitles = listAt(data, 'media.entries').some((entry) => textAt(entry, 'kind') === 'subtitle');
  if (!player && !hasSubtitles) return [];
  return [player !== undefined && chapterList(data, player), transcriptSection(data, body, player)];
}

function postWords(data: unknown): HTMLElement[] {
  const title = textAt(data, 'common.title');
  const url = textAt(data, 'ids.canonical_url');
  const author = textAt(data, 'common.author.name') ?? textAt(data, 'common.author.username');
  const text = textAt(data, 'common.description') ?? textAt(data, 'common.caption');
  const seconds = numberAt(data, 'common.duration_seconds');
  const publishedAt = textAt(data, 'common.published_at');
  const facts = [seconds !== undefined && clock(seconds), publishedAt?.slice(0, 10)].filter((fact) => !!fact);
  return [
    element('h3', {}, webLink(url, title ?? t.untitled)),
    ...(author === undefined ? [] : [element('p', {}, `${t.by} `, webLink(textAt(data, 'common.author.url'), author))]),
    ...(facts.length === 0 ? [] : [element('p', { class: 'small muted figures' }, facts.join(' · '))]),
    ...(text === undefined || text === title ? [] : [longText(text)]),
  ];
}

function postMetrics(data: unknown): HTMLElement | false {
  const visible = METRICS.flatMap((name) => {
    const value = numberAt(data, `metrics.${name}`);
    const rounded = textAt(data, `provenance.precision.${name}`) === 'rounded';
    if (value === undefined) return [];
    const shown = rounded ? fill(t.about, { value: whole(value) }) : whole(value);
    return [element('div', {}, element('dt', {}, t.metrics[name]), element('dd', {}, shown))];
  });
  return visible.length > 0 && element('dl', { class: 'metrics', 'aria-label': t.numbers }, ...visible);
}

/** Long ones scroll within themselves, also by keyboard. */
export function longText(text: string): HTMLElement {
  return element(
    'div',
    { class: 'document-text small', tabindex: '0', role: 'region', 'aria-label': t.description },
    text,
  );
}

export function documentHead(
  thumbnail: string | undefined,
  words: readonly HTMLElement[],
  links: MediaLinks = new Map(),
): HTMLElement {
  const picture = thumbnail?.startsWith('https:') ? pictureOf(thumbnail, links, 'document-thumbnail') : undefined;
  return element(
    'div',
    { class: picture ? 'document-head document-head-pictured' : 'document-head' },
    picture,
    element('div', { class: 'document-words' }, ...words),
  );
}

/** Without a link of the gateway it is loaded from the platform, without a referrer; it is omitted if it fails. */
function pictureOf(url: string, links: MediaLinks, className?: string): HTMLElement {
  const src = links.get(url) ?? url;
  const image = element('img', { src, alt: '', referrerpolicy: 'no-referrer', loading: 'lazy', class: className });
  image.addEventListener('error', () => (image.closest('li') ?? image).remove());
  return image;
}

/** @param urls The first is already displayed above. */
export function gallery(urls: readonly string[], links: MediaLinks = new Map()): HTMLElement | false {
  const visible = urls.filter((url) => url.startsWith('https:'));
  if (visible.length < 2) return false;
  return element(
    'ul',
    { class: 'gallery', 'aria-label': t.pictures },
    ...visible.map((url, index) => galleryEntry(url, index, links)),
  );
}

function galleryEntry(url: string, index: number, links: MediaLinks): HTMLElement {
  const link = webLink(links.get(url) ?? url, '', { 'aria-label': fill(t.picture, { number: index + 1 }) });
  link.replaceChildren(pictureOf(url, links));
  return element('li', {}, link);
}

/** A product of a shop link, and its reviews. */
export function productParts(data: unknown): (HTMLElement | false)[] {
  const product = fieldAt(data, 'product');
  const pictures = textsAt(product, 'image_urls');
  const links = mediaLinksOf(listAt(product, 'media'));
  return [
    documentHead(pictures[0], productWords(product), links),
    gallery(pictures, links),
    reviewList(t.bestReviews, listAt(data, 'reviews.five_star')),
    reviewList(t.worstReviews, listAt(data, 'reviews.one_star')),
  ];
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
    sold !== undefined && fill(t.sold, { count: whole(sold) }),
    stock !== undefined && fill(t.inStock, { count: whole(stock) }),
  ].filter((fact) => !!fact);
  return [
    element('h3', {}, webLink(textAt(product, 'url'), textAt(product, 'name') ?? t.unnamed)),
    ...priceLine(product),
    ...(shop === undefined ? [] : [element('p', {}, `${t.from} `, webLink(textAt(product, 'shop.url'), shop))]),
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
    element('summary', {}, fill(title, { count: reviews.length })),
    element('ul', { class: 'reviews' }, ...reviews.map(reviewEntry)),
  );
}

function reviewEntry(review: unknown): HTMLElement {
  const facts = [textAt(review, 'author'), textAt(review, 'created_at')?.slice(0, 10), textAt(review, 'variant')];
  const rating = numberAt(review, 'rating') ?? 0;
  return element(
    'li',
    {},
    element(
      'span',
      { class: 'small muted' },
      [fill(t.ofFive, { rating }), ...facts].filter((fact) => fact).join(' · '),
    ),
    element('p', {}, textAt(review, 'text') ?? t.noText),
  );
}
