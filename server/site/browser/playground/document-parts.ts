/*
 * Parts that the cards of posts and products share: the media links of the gateway by address, pictures that are omitted
 * if they cannot be loaded, slides of a carousel, the head with pictures and words, dates, and long texts that are
 * folded after a few lines.
 */

import { element } from '../elements.js';
import { numberAt, ownAddress, textAt } from '../requests.js';
import { textsOf } from '../texts.js';
import type { Slide } from './carousel.js';

const t = textsOf('playground-links');

/** Address of the file in a browser → the media link of the gateway, on this origin. */
export type MediaLinks = ReadonlyMap<string, string>;

export function mediaLinksOf(entries: readonly unknown[]): MediaLinks {
  const links = new Map<string, string>();
  for (const entry of entries) {
    const [url, own] = ['url', 'proxy_url'].map((name) => textAt(entry, name));
    if (url !== undefined && own !== undefined) links.set(url, new URL(ownAddress(own), location.href).href);
  }
  return links;
}

/** Longer texts, by characters or lines, are folded; the style sheet has the same numbers of lines. */
const [SHORT_TEXT, SHORT_LINES] = matchMedia('(min-width: 60rem)').matches ? [560, 10] : [280, 4];

/** Of a long one the first lines are shown, with a button for the rest. */
export function longText(text: string): HTMLElement {
  const words = element('div', { class: 'document-text small', dir: 'auto' }, text);
  if (text.length <= SHORT_TEXT && text.split('\n').length <= SHORT_LINES) return words;
  words.classList.add('document-text-folded');
  const button = element(
    'button',
    { type: 'button', class: 'link-button', 'aria-expanded': 'false' },
    t.wholeDescription,
  );
  button.addEventListener('click', () => {
    const isFolded = words.classList.toggle('document-text-folded');
    button.setAttribute('aria-expanded', String(!isFolded));
  });
  return element('div', {}, words, button);
}

/**
 * Without a link of the gateway it is loaded from the platform, without a referrer; it is omitted if it fails.
 * @param isListed Whether the entry of a list around it is omitted as well. Default true.
 */
export function pictureOf(url: string, links: MediaLinks, className?: string, isListed = true): HTMLElement {
  const src = links.get(url) ?? url;
  const image = element('img', { src, alt: '', referrerpolicy: 'no-referrer', loading: 'lazy', class: className });
  image.addEventListener('error', () => ((isListed && image.closest('li')) || image).remove());
  return image;
}

/** The tallest is that of a phone. */
const [TALLEST, WIDEST] = [0.5625, 1.91];
/** What is wider has more room than the words beside it. */
const LANDSCAPE = 1.2;

export function isLandscape(ratio = 1): boolean {
  return ratio >= LANDSCAPE;
}

/** Width of the first file to its height, as far as the document says; the others get the same frame. */
export function ratioOf(entries: readonly unknown[], urls: readonly string[]): number | undefined {
  const entry = entries.find((one) => urls[0] !== undefined && textAt(one, 'url') === urls[0]);
  const [width, height] = [numberAt(entry, 'width'), numberAt(entry, 'height')];
  return width && height ? shapeOf(width, height) : undefined;
}

/** Width to height of a frame for a picture of this size. */
export function shapeOf(width: number, height: number): number {
  return Math.min(WIDEST, Math.max(TALLEST, width / height));
}

export function slidesOf(urls: readonly string[], links: MediaLinks): Slide[] {
  const loadable = urls.filter((url) => url.startsWith('https:'));
  return loadable.map((url) => ({ kind: 'picture', src: links.get(url) ?? url }));
}

/**
 * Words with media before them: beside them where there is room, or else above.
 * @param isWide Whether the media are as wide as a video. @param more Words that a phone shows after a transcript.
 */
export function mediaHead(
  media: readonly HTMLElement[],
  words: readonly HTMLElement[],
  isWide: boolean,
  more: readonly HTMLElement[],
): HTMLElement {
  const kind = media.length === 0 ? '' : isWide ? ' media-head-wide' : ' media-head-pictured';
  return element(
    'div',
    { class: `media-head${kind}` },
    media.length > 0 && element('div', { class: 'stack-small' }, ...media),
    element('div', { class: 'document-words' }, ...words),
    more.length > 0 && element('div', { class: 'document-words document-more' }, ...more),
  );
}

/** Of a moment: `18 Apr 2026`, in Vietnamese `18/04/2026`, by UTC. Undefined if the text is no moment. */
export function dateOf(moment: string): string | undefined {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return undefined;
  const isVietnamese = document.documentElement.lang === 'vi';
  const [day, month] = isVietnamese ? (['2-digit', '2-digit'] as const) : (['numeric', 'short'] as const);
  return new Intl.DateTimeFormat('en-GB', { day, month, year: 'numeric', timeZone: 'UTC' }).format(at);
}

/** The name that people know it by. @param otherwise Of a platform without one. */
export function platformName(key: string, otherwise = t.thePlatform): string {
  const names: unknown = JSON.parse(document.querySelector<HTMLElement>('[data-platforms]')?.dataset.platforms ?? '{}');
  return textAt(names, key) ?? otherwise;
}
