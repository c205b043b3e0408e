/*
 * Displays an answer of the extraction route for people: a post, or a product (`product-card.ts`). Of a post the player or
 * the pictures come first, beside them who made it and what can be saved, then numbers, the timeline and all files. Files come through the media links of the gateway, which work where a
 * platform refuses other addresses or pages. Without such a link, they are loaded from the platform, pictures without a
 * referrer; a picture that fails is removed. Fields that an answer lacks are omitted, and a rounded number is marked as
 * such.
 */

import { clock, element, webLink, whole } from '../elements.js';
import { fieldAt, listAt, numberAt, textAt, textsAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { carousel } from './carousel.js';
import {
  dateOf,
  isLandscape,
  longText,
  type MediaLinks,
  mediaHead,
  mediaLinksOf,
  pictureOf,
  ratioOf,
  slidesOf,
} from './document-parts.js';
import { cutForm, downloadButtons, fileList } from './media-downloads.js';
import { productParts } from './product-card.js';
import { timeline } from './timeline.js';
import { type Player, postPlayer } from './video-player.js';

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

/** Width of a video to its height, if the document does not say. */
const WIDE = 16 / 9;

function postParts(data: unknown, { body, platform }: CardOptions): (HTMLElement | false)[] {
  const thumbnail = textAt(data, 'common.thumbnail') ?? textsAt(data, 'media.image_urls')[0];
  const entries = listAt(data, 'media.entries');
  const links = mediaLinksOf(entries);
  const poster = thumbnail?.startsWith('https:') ? (links.get(thumbnail) ?? thumbnail) : undefined;
  const videoRatio = ratioOf(entries, textsAt(data, 'media.video_urls'));
  const shown = postPlayer(data, { links, poster, platform, ratio: videoRatio });
  const player = shown && 'playFrom' in shown ? shown : undefined;
  const isSeen = shown?.element.querySelector('video') != null;
  const pictures = textsAt(data, 'media.image_urls');
  const isCarousel = !isSeen && pictures.length > 1;
  const ratio = ratioOf(entries, pictures);
  const strip = isCarousel && carousel(slidesOf(pictures, links), t.pictures, ratio, downloadButtons(data));
  const picture = !isSeen && !strip && poster !== undefined && pictureOf(poster, links, 'document-thumbnail');
  const media = [strip, picture, shown?.element].filter((part) => !!part);
  const isWide = isSeen ? isLandscape(videoRatio ?? WIDE) : strip ? isLandscape(ratio) : shown !== undefined;
  const numbers = postMetrics(data);
  const files = fileList(data);
  const words = [...postWords(data, links), ...(strip ? [] : saveParts(data, player))];
  const more = [...describing(data), numbers, strip && files].filter((part) => !!part);
  return [
    mediaHead(media, words, isWide, more),
    hasSound(data, player) && timeline(data, body, player),
    !strip && files,
  ];
}

/** What can be saved, the best first. */
function saveParts(data: unknown, player: Player | undefined): HTMLElement[] {
  const buttons = downloadButtons(data);
  return [
    buttons.length > 0 && element('div', { class: 'row' }, ...buttons),
    player !== undefined && cutForm(data),
  ].filter((part) => part !== false);
}

/** Whether something is said, or has chapters. */
function hasSound(data: unknown, player: Player | undefined): boolean {
  return !!player || listAt(data, 'media.entries').some((entry) => textAt(entry, 'kind') === 'subtitle');
}

function postWords(data: unknown, links: MediaLinks): HTMLElement[] {
  const title = textAt(data, 'common.title');
  const url = textAt(data, 'ids.canonical_url');
  const author = textAt(data, 'common.author.name') ?? textAt(data, 'common.author.username');
  const seconds = numberAt(data, 'common.duration_seconds');
  const publishedAt = textAt(data, 'common.published_at');
  const facts = [seconds !== undefined && clock(seconds), publishedAt && dateOf(publishedAt)].filter((fact) => !!fact);
  return [
    element('h3', { dir: 'auto' }, webLink(url, title ?? t.untitled)),
    ...(author === undefined ? [] : [authorLine(data, author, links)]),
    ...(facts.length === 0 ? [] : [element('p', { class: 'small muted figures' }, facts.join(' · '))]),
  ];
}

/** A line that begins with a time. */
const TIMED = /^\W*(?:\d+:)?\d+:\d\d\b/;

/** Without its first line, if that is the title, and without chapters, which the timeline has. */
function describing(data: unknown): HTMLElement[] {
  const text = textAt(data, 'common.description') ?? textAt(data, 'common.caption') ?? '';
  const title = textAt(data, 'common.title');
  const rest = title !== undefined && `${text}\n`.startsWith(`${title}\n`) ? text.slice(title.length) : text;
  const chapters = listAt(data, 'common.chapters').flatMap((chapter) => textAt(chapter, 'title') ?? []);
  const isChapter = (line: string) => TIMED.test(line) && chapters.some((name) => line.includes(name));
  const lines = rest.split('\n').filter((line) => !isChapter(line));
  const shown = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return shown === '' ? [] : [longText(shown)];
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
