/*
 * Displays an answer of the extraction route for people: a post with its numbers, players, pictures and files, or a
 * product (`product-card.ts`). Files come through the media links of the gateway, which work where a
 * platform refuses other addresses or pages. Without such a link, they are loaded from the platform, pictures without a
 * referrer; a picture that fails is removed. Fields that an answer lacks are omitted, and a rounded number is marked as
 * such.
 */

import { clock, element, webLink, whole } from '../elements.js';
import { fieldAt, listAt, numberAt, textAt, textsAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { dateOf } from '../times.js';
import { carousel } from './carousel.js';
import { longText, type MediaLinks, mediaLinksOf, picturedHead, pictureOf, slidesOf } from './document-parts.js';
import { cutForm, downloadButtons, fileList } from './media-downloads.js';
import { productParts } from './product-card.js';
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
  const pictures = textsAt(data, 'media.image_urls');
  const isCarousel = !isSeen && pictures.length > 1;
  const strip = isCarousel && carousel(slidesOf(pictures, links), t.pictures);
  const head = isSeen ? undefined : thumbnail;
  return [
    strip ? picturedHead(strip, postWords(data, links)) : documentHead(head, postWords(data, links), links),
    watched,
    postMetrics(data),
    !isCarousel && gallery(pictures, links),
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

function postWords(data: unknown, links: MediaLinks): HTMLElement[] {
  const title = textAt(data, 'common.title');
  const url = textAt(data, 'ids.canonical_url');
  const author = textAt(data, 'common.author.name') ?? textAt(data, 'common.author.username');
  const text = textAt(data, 'common.description') ?? textAt(data, 'common.caption');
  const seconds = numberAt(data, 'common.duration_seconds');
  const publishedAt = textAt(data, 'common.published_at');
  const facts = [seconds !== undefined && clock(seconds), publishedAt && dateOf(publishedAt)].filter((fact) => !!fact);
  return [
    element('h3', { dir: 'auto' }, webLink(url, title ?? t.untitled)),
    ...(author === undefined ? [] : [authorLine(data, author, links)]),
    ...(facts.length === 0 ? [] : [element('p', { class: 'small muted figures' }, facts.join(' · '))]),
    ...(text === undefined || text === title ? [] : [longText(text)]),
  ];
}

/** The picture of the account is omitted if it cannot be loaded. */
function authorLine(data: unknown, name: string, links: MediaLinks): HTMLElement {
  const avatar = textAt(data, 'common.author.avatar');
  const picture = avatar?.startsWith('https:') === true && pictureOf(avatar, links, 'avatar');
  const isVerified = fieldAt(data, 'common.author.verified') === true;
  return element(
    'p',
    { class: 'row author' },
    picture,
    element('span', {}, `${t.by} `, element('bdi', {}, webLink(textAt(data, 'common.author.url'), name))),
    isVerified && element('span', { class: 'badge badge-good' }, t.verified),
  );
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

function documentHead(
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

/** @param urls The first is already displayed above. */
function gallery(urls: readonly string[], links: MediaLinks = new Map()): HTMLElement | false {
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
