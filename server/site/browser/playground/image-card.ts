/*
 * The card of one image in the playground, from the submission of its job through polling to the picture. Each card has
 * an idempotency key, so that trying again after a lost connection returns the same job. A cancelled job that had just
 * ended still shows its result. Changes are announced to screen readers, and the focus moves to the card if the button
 * that had it disappears.
 */

import { byId, element, problemParts } from '../elements.js';
import {
  failureWords,
  loadJob,
  newIdempotencyKey,
  numberAt,
  ownAddress,
  pause,
  playJson,
  RequestProblem,
  textAt,
} from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { showWork } from '../work.js';

const t = textsOf('playground-images');

export interface ImageRequest {
  model: string;
  prompt: string;
  size: string;
  /** Data URIs of input images. */
  image?: readonly string[];
}

/** Polls are free; this interval is short enough for people, and far below the gateway's limit. */
const POLL_MS = 1_500;
const QUIET_BUTTON = 'button button-quiet button-small';

const cards = byId('image-cards', HTMLUListElement);
const news = byId('image-news', HTMLElement);
let made = 0;

/** One image: submitted, polled, displayed. Newest first. */
export function addImageCard(request: ImageRequest): void {
  made += 1;
  void new ImageCard(request, fill(t.image, { number: made })).run();
}

class ImageCard {
  readonly #request: ImageRequest;
  readonly #name: string;
  readonly #frame = element('div', { class: 'image-frame' });
  readonly #work = element('div', { class: 'work' });
  readonly #actions = element('div', { class: 'row' });
  readonly #card: HTMLElement;
  /** A repeated request returns the same job. */
  readonly #idempotencyKey = newIdempotencyKey();
  #done: ReturnType<typeof showWork> | undefined;
  #shown: string | undefined;

  constructor(request: ImageRequest, name: string) {
    this.#request = request;
    this.#name = name;
    const text = element('p', { class: 'small muted image-prompt' }, request.prompt);
    const attributes = { class: 'card image-card', 'aria-label': name, tabindex: '-1' };
    this.#card = element('li', attributes, this.#frame, text, this.#work, this.#actions);
    cards.prepend(this.#card);
    this.#frame.append(element('span', { class: 'muted small' }, name));
  }

  async run(): Promise<void> {
    const name = this.#name;
    news.textContent = fill(t.submitted, { name });
    this.#show(t.queued);
    try {
      const how = { method: 'POST', json: this.#request, idempotencyKey: this.#idempotencyKey } as const;
      const job = await this.#follow(await playJson('/v1/images/jobs', how));
      this.#show();
      if (textAt(job, 'status') === 'completed') this.#showPicture(job);
      else if (textAt(job, 'status') === 'cancelled') this.#end(fill(t.wasCancelled, { name }), [t.cancelled]);
      else this.#end(fill(t.failed, { name }), [await failureWords(job, t.itFailed)]);
    } catch (error) {
      this.#show();
      this.#end(fill(t.failed, { name }), problemParts(error));
      if (error instanceof RequestProblem && error.isPassing) this.#replaceActions(this.#againButton());
    }
  }

  /** The current activity; empty if there is none. */
  #show(words?: string): void {
    if (words === this.#shown) return;
    this.#shown = words;
    this.#done?.();
    this.#done = words === undefined ? undefined : showWork(this.#work, words);
  }

  /** If the focused element is removed, the image gets the focus. */
  #replaceActions(...made: readonly HTMLElement[]): void {
    const wasHere = this.#actions.contains(document.activeElement);
    this.#actions.replaceChildren(...made);
    if (wasHere) this.#card.focus();
  }

  async #follow(submitted: unknown): Promise<unknown> {
    const path = textAt(submitted, 'status_url') ?? '';
    this.#replaceActions(this.#cancelButton(path));
    const lost = () => this.#show(t.noConnection);
    for (let job = submitted; ; job = await loadJob(path, lost)) {
      const status = textAt(job, 'status');
      if (status !== 'queued' && status !== 'generating') return job;
      this.#show(status === 'generating' ? t.generating : queuedWords(job));
      await pause(POLL_MS);
    }
  }

  #cancelButton(path: string): HTMLElement {
    const button = element('button', { type: 'button', class: QUIET_BUTTON }, t.cancel);
    button.append(element('span', { class: 'visually-hidden' }, ` ${this.#name}`));
    button.addEventListener('click', async () => {
      if (button.getAttribute('aria-disabled') === 'true') return;
      button.setAttribute('aria-disabled', 'true');
      // A job that has just ended cannot be cancelled: the next poll returns its result.
      await playJson(`${path}/cancel`, { method: 'POST', json: {} }).catch(() => undefined);
      button.removeAttribute('aria-disabled');
    });
    return button;
  }

  #againButton(): HTMLElement {
    const button = element('button', { type: 'button', class: QUIET_BUTTON }, t.again);
    button.append(element('span', { class: 'visually-hidden' }, ` ${this.#name}`));
    button.addEventListener('click', () => {
      this.#replaceActions();
      void this.run();
    });
    return button;
  }

  #showPicture(job: unknown): void {
    const [entry] = (job as { data?: readonly unknown[] }).data ?? [];
    const src = ownAddress(textAt(entry, 'url') ?? '');
    const [width, height] = [numberAt(entry, 'width'), numberAt(entry, 'height')];
    const size = { width: String(width ?? ''), height: String(height ?? '') };
    this.#frame.replaceChildren(element('img', { src, alt: this.#request.prompt, ...size }));
    const open = element('a', { href: src, target: '_blank', class: QUIET_BUTTON }, t.open);
    const save = { href: src, download: textAt(entry, 'filename') ?? 'image', class: QUIET_BUTTON };
    this.#replaceActions(open, element('a', save, t.download));
    this.#work.replaceChildren(`${width} × ${height}`);
    news.textContent = fill(t.ready, { name: this.#name });
  }

  #end(message: string, parts: readonly (Node | string)[]): void {
    this.#replaceActions();
    this.#work.replaceChildren(element('p', { class: 'problem' }, ...parts));
    news.textContent = message;
  }
}

function queuedWords(job: unknown): string {
  const position = numberAt(job, 'queue_position');
  return position === undefined ? t.queued : fill(t.queuedAt, { position });
}
