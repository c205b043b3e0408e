/*
 * Pictures and videos of an item, one at a time: a strip that scrolls by touch, buttons over it, arrow keys, and small
 * pictures to choose from. The frame has the shape of the first picture, as the document says it or else as it is
 * loaded. The shown one can be saved, beside what saves all. A picture that cannot be loaded is removed with its small
 * one. A strip of one has no buttons.
 */

import { element } from '../elements.js';
import { ownAddress } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { shapeOf } from './document-parts.js';

const t = textsOf('playground-links');

/** A picture or a video; addresses are those that a browser can load. */
export interface Slide {
  kind: 'picture' | 'video';
  src: string;
}

/**
 * False without any.
 * @param label What the pictures are of. @param ratio Width to height of the frame. Default 1. @param saves Buttons that
 * save all of them. Default: none.
 */
export function carousel(
  slides: readonly Slide[],
  label: string,
  ratio = 1,
  saves: readonly HTMLElement[] = [],
): HTMLElement | false {
  return slides.length > 0 && new Carousel(slides, label, ratio, saves).element;
}

class Carousel {
  readonly element: HTMLElement;
  readonly #strip: HTMLElement;
  readonly #small = element('div', { class: 'carousel-small' });
  readonly #count = element('span', { class: 'badge figures', 'aria-live': 'polite' });
  readonly #save = element('a', {
    class: 'button button-quiet button-small',
    target: '_blank',
    rel: 'noopener noreferrer',
  });
  readonly #previous = stepButton('‹', t.previousPicture);
  readonly #next = stepButton('›', t.nextPicture);
  readonly #controls: HTMLElement;

  constructor(slides: readonly Slide[], label: string, ratio: number, saves: readonly HTMLElement[]) {
    const strip = { class: 'carousel-strip', tabindex: '0', role: 'group', 'aria-label': label };
    this.#strip = element('div', strip);
    this.#shape(ratio);
    this.#controls = element('div', { class: 'carousel-controls' }, this.#previous, this.#count, this.#next);
    const frame = element('div', { class: 'carousel-frame' }, this.#strip, this.#controls);
    const buttons = element('div', { class: 'row' }, ...saves, this.#save);
    const foot = element('div', { class: 'row row-apart' }, this.#small, buttons);
    this.element = element('div', { class: 'carousel' }, frame, foot);
    for (const [index, slide] of slides.entries()) this.#add(slide, index);
    this.#previous.addEventListener('click', () => this.#show(this.#index - 1));
    this.#next.addEventListener('click', () => this.#show(this.#index + 1));
    this.#strip.addEventListener('scroll', () => this.#update());
    this.#strip.addEventListener('keydown', (event) => this.#onKey(event));
    this.#update();
  }

  get #index(): number {
    const { scrollLeft, clientWidth } = this.#strip;
    return clientWidth === 0 ? 0 : Math.round(scrollLeft / clientWidth);
  }

  #shape(ratio: number): void {
    this.#strip.style.setProperty('--ratio', String(ratio));
  }

  #add({ kind, src }: Slide, index: number): void {
    const name = fill(t.picture, { number: index + 1 });
    const large =
      kind === 'video'
        ? element('video', { src, controls: true, playsinline: true, preload: 'metadata', 'aria-label': t.video })
        : element('img', { src, alt: name, referrerpolicy: 'no-referrer', loading: index === 0 ? 'eager' : 'lazy' });
    if (index === 0 && large instanceof HTMLImageElement)
      large.addEventListener('load', () => this.#shape(shapeOf(large.naturalWidth, large.naturalHeight)));
    const slide = element('div', { class: 'carousel-slide' }, large);
    const picture =
      kind === 'picture' && element('img', { src, alt: '', referrerpolicy: 'no-referrer', loading: 'lazy' });
    const choice = element(
      'button',
      { type: 'button', class: 'carousel-choice', 'aria-label': kind === 'video' ? t.video : name },
      picture || '▶',
    );
    choice.addEventListener('click', () => this.#show([...this.#small.children].indexOf(choice)));
    large.addEventListener('error', () => {
      slide.remove();
      choice.remove();
      this.#update();
    });
    this.#strip.append(slide);
    this.#small.append(choice);
  }

  #show(index: number): void {
    const last = this.#strip.childElementCount - 1;
    const wanted = Math.max(0, Math.min(last, index));
    this.#strip.scrollTo({ left: wanted * this.#strip.clientWidth });
    this.#update(wanted);
  }

  #onKey(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
    const step = steps[event.key];
    // A video within has its own keys.
    if (step === undefined || event.target !== this.#strip) return;
    event.preventDefault();
    this.#show(this.#index + step);
  }

  #update(index = this.#index): void {
    const count = this.#strip.childElementCount;
    this.element.hidden = count === 0;
    this.#controls.hidden = count < 2;
    this.#small.hidden = count < 2;
    const words = fill(t.pictureOf, { number: index + 1, count });
    if (this.#count.textContent !== words) this.#count.textContent = words;
    this.#previous.setAttribute('aria-disabled', String(index === 0));
    this.#next.setAttribute('aria-disabled', String(index >= count - 1));
    this.#offer(this.#strip.children[index]?.firstElementChild);
    for (const [position, choice] of [...this.#small.children].entries()) {
      choice.setAttribute('aria-current', String(position === index));
    }
  }

  /** A file of the platform cannot be saved by a page of another origin: it is opened. */
  #offer(shown: Element | null | undefined): void {
    if (!(shown instanceof HTMLImageElement || shown instanceof HTMLVideoElement)) return;
    const own = ownAddress(shown.src);
    const isOwn = own.startsWith('/v1/');
    this.#save.href = isOwn ? `${own}?download=1` : own;
    this.#save.toggleAttribute('download', isOwn);
    const words = shown instanceof HTMLVideoElement ? t.downloadVideo : t.downloadPicture;
    if (this.#save.textContent !== words) this.#save.textContent = words;
  }
}

function stepButton(sign: string, label: string): HTMLButtonElement {
  const shown = element('span', { 'aria-hidden': 'true' }, sign);
  return element('button', { type: 'button', class: 'button button-quiet button-small', 'aria-label': label }, shown);
}
