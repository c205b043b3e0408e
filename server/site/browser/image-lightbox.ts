/*
 * Shows the pictures of a list over the page: the article of the page of each image, with buttons and arrow keys for the
 * ones before and after it. Esc closes it, and the focus returns to the picture of the list. A click with a modifier
 * opens the page of the image as any link does.
 */

import { element } from './elements.js';
import { fill, textsOf } from './texts.js';

const t = textsOf('images');

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
  readonly #content = element('div', { class: 'lightbox-content' });
  readonly #previous = step('‹', t.previous);
  readonly #next = step('›', t.next);
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
    const bar = element('div', { class: 'row lightbox-bar' }, this.#previous, this.#place, this.#next, close);
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
    const whole = element('div', { class: 'image-whole' }, picture);
    this.#content.replaceChildren(
      element('div', { class: 'image-detail' }, whole, element('div', { class: 'lightbox-waiting' })),
    );
    const links = this.#links();
    this.#place.textContent = fill(t.place, { at: links.indexOf(link) + 1, all: links.length });
    setDisabled(this.#previous, !this.#neighbour(-1));
    setDisabled(this.#next, !this.#neighbour(1));
    const article = await loadArticle(link.href);
    if (this.#link !== link || !this.#dialog.open) return;
    if (!article) return location.assign(link.href);
    this.#content.replaceChildren(article);
  }
}

function step(sign: string, label: string): HTMLButtonElement {
  return element(
    'button',
    { type: 'button', class: 'button button-quiet button-small', 'aria-label': label },
    element('span', { 'aria-hidden': 'true' }, sign),
  );
}

/** It keeps the focus, which a disabled button loses. */
function setDisabled(button: HTMLButtonElement, is: boolean): void {
  if (is) button.setAttribute('aria-disabled', 'true');
  else button.removeAttribute('aria-disabled');
}

async function loadArticle(url: string): Promise<Node | undefined> {
  const response = await fetch(url).catch(() => undefined);
  if (!response?.ok) return undefined;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const article = page.querySelector('#image-detail');
  return article ? document.importNode(article, true) : undefined;
}
