/*
 * Shows the pictures of a list over the page: the article of the page of each image, with buttons at its sides, arrow keys
 * and swipes for the ones before and after it. The buttons stay as the article changes, so that they keep the focus. Esc closes it, and the focus returns to the picture of the list. A click with a modifier
 * opens the page of the image as any link does.
 */

import { element } from './elements.js';
import { fill, textsOf } from './texts.js';

const t = textsOf('images');
/** A shorter way of a finger is no swipe. */
const SWIPE_PX = 48;

export function startLightbox(list: HTMLElement): void {
  list.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a.image-open') : null;
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    new Lightbox(list).open(link);
  });
}

class Lightbox {
  readonly #list: HTMLElement;
  readonly #previous = step('‹', t.previous);
  readonly #next = step('›', t.next);
  readonly #content = element('div', { class: 'image-detail' }, this.#previous, this.#next);
  /** Which of the list is shown. */
  readonly #place = element('span', { class: 'small muted figures lightbox-place', role: 'status' });
  readonly #dialog: HTMLDialogElement;
  #link: HTMLAnchorElement | undefined;

  constructor(list: HTMLElement) {
    this.#list = list;
    const close = element(
      'button',
      { type: 'button', class: 'button button-quiet button-small lightbox-close' },
      t.close,
    );
    close.addEventListener('click', () => this.#dialog.close());
    this.#previous.addEventListener('click', () => this.#step(-1));
    this.#next.addEventListener('click', () => this.#step(1));
    this.#content.addEventListener('touchstart', (event) => this.#onTouch(event), { passive: true });
    const bar = element('div', { class: 'row lightbox-bar' }, this.#place, close);
    this.#dialog = element('dialog', { class: 'lightbox', 'aria-label': t.lightbox }, bar, this.#content);
    this.#dialog.addEventListener('keydown', (event) => this.#onKey(event));
    this.#dialog.addEventListener('close', () => {
      this.#dialog.remove();
      this.#link?.focus();
    });
    this.#dialog.addEventListener('click', ({ target }) => {
      if (target === this.#dialog) this.#dialog.close();
    });
  }

  open(link: HTMLAnchorElement): void {
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    void this.#show(link);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    this.#step(event.key === 'ArrowLeft' ? -1 : 1);
  }

  #onTouch({ touches: [from, second] }: TouchEvent): void {
    if (!from || second) return;
    const end = ({ changedTouches: [to] }: TouchEvent) => {
      if (!to || to.identifier !== from.identifier) return;
      const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY];
      if (Math.abs(x) > SWIPE_PX && Math.abs(x) > 2 * Math.abs(y)) this.#step(x > 0 ? -1 : 1);
    };
    this.#content.addEventListener('touchend', end, { once: true });
  }

  #links(): HTMLAnchorElement[] {
    return [...this.#list.querySelectorAll<HTMLAnchorElement>('a.image-open')];
  }

  #neighbour(by: 1 | -1): HTMLAnchorElement | undefined {
    const links = this.#links();
    return this.#link && links[links.indexOf(this.#link) + by];
  }

  #step(by: 1 | -1): void {
    const link = this.#neighbour(by);
    if (link) void this.#show(link);
  }

  /** The picture of the list stands there until the article has been loaded. */
  async #show(link: HTMLAnchorElement): Promise<void> {
    this.#link = link;
    const picture = link.querySelector('img')?.cloneNode();
    this.#content.removeAttribute('id');
    this.#fill(element('div', { class: 'image-whole' }, picture), element('div', { class: 'lightbox-waiting' }));
    const links = this.#links();
    this.#place.textContent = fill(t.place, { at: links.indexOf(link) + 1, all: links.length });
    setDisabled(this.#previous, !this.#neighbour(-1));
    setDisabled(this.#next, !this.#neighbour(1));
    const article = await loadArticle(link.href);
    if (this.#link !== link || !this.#dialog.open) return;
    if (!article) return location.assign(link.href);
    this.#fill(...article.children);
    this.#content.id = article.id;
  }

  #fill(...parts: readonly Node[]): void {
    for (const part of [...this.#content.children]) {
      if (part !== this.#previous && part !== this.#next) part.remove();
    }
    this.#content.append(...parts);
  }
}

function step(sign: string, label: string): HTMLButtonElement {
  return element(
    'button',
    { type: 'button', class: 'button button-quiet lightbox-step', 'aria-label': label },
    element('span', { 'aria-hidden': 'true' }, sign),
  );
}

/** It keeps the focus, which a disabled button loses. */
function setDisabled(button: HTMLButtonElement, is: boolean): void {
  if (is) button.setAttribute('aria-disabled', 'true');
  else button.removeAttribute('aria-disabled');
}

async function loadArticle(url: string): Promise<Element | undefined> {
  const response = await fetch(url).catch(() => undefined);
  if (!response?.ok) return undefined;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const article = page.querySelector('#image-detail');
  return article ? document.importNode(article, true) : undefined;
}
