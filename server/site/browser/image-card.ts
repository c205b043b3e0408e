/*
 * The card of one image in the playground, from the submission of its job through polling to the picture. Each card has
 * an idempotency key, so that trying again after a lost connection returns the same job. A cancelled job that had just
 * ended still shows its result. Changes are announced to screen readers, and the focus moves to the card if the button
 * that had it disappears.
 */

import { byId, element, problemParts } from './elements.js';
import { loadJob, newIdempotencyKey, numberAt, ownAddress, playJson, RequestProblem, textAt } from './requests.js';
import { showWork } from './work.js';

export interface ImageRequest {
  model: string;
  prompt: string;
  size: string;
  /** Data URIs of input images. */
  image?: readonly string[];
}

/** Polls are free; this interval is short enough for people, and far below the gateway's limit. */
const POLL_MS = 1_500;

const cards = byId('image-cards', HTMLUListElement);
const news = byId('image-news', HTMLElement);
let made = 0;

/** One image: submitted, polled, displayed. Newest first. */
export function addImageCard(request: ImageRequest): void {
  made += 1;
  const name = `Image ${made}`;
  const frame = element('div', { class: 'image-frame' });
  const work = element('div', { class: 'work' });
  const actions = element('div', { class: 'row' });
  const text = element('p', { class: 'small muted image-prompt' }, request.prompt);
  const card = element(
    'li',
    { class: 'card image-card', 'aria-label': name, tabindex: '-1' },
    frame,
    text,
    work,
    actions,
  );
  // A repeated request returns the same job.
  const idempotencyKey = newIdempotencyKey();
  cards.prepend(card);
  frame.append(element('span', { class: 'muted small' }, name));
  let done: ReturnType<typeof showWork> | undefined;
  let shownUrl: string | undefined;
  void run();

  async function run(): Promise<void> {
    news.textContent = `${name} was submitted.`;
    show('Queued');
    try {
      const submitted = await playJson('/v1/images/jobs', { method: 'POST', json: request, idempotencyKey });
      const job = await follow(submitted);
      show();
      if (textAt(job, 'status') === 'completed') showPicture(job);
      else if (textAt(job, 'status') === 'cancelled') end(`${name} was cancelled.`, ['Cancelled.']);
      else end(`${name} failed.`, [textAt(job, 'error.message') ?? 'It failed.', ' ', codeOf(job)]);
    } catch (error) {
      show();
      end(`${name} failed.`, problemParts(error));
      if (error instanceof RequestProblem && error.isPassing) replaceActions(againButton());
    }
  }

  /** The current activity; empty if there is none. */
  function show(words?: string): void {
    if (words === shownUrl) return;
    shownUrl = words;
    done?.();
    done = words === undefined ? undefined : showWork(work, words);
  }

  /** If the focused element is removed, the image gets the focus. */
  function replaceActions(...made: readonly HTMLElement[]): void {
    const wasHere = actions.contains(document.activeElement);
    actions.replaceChildren(...made);
    if (wasHere) card.focus();
  }

  async function follow(submitted: unknown): Promise<unknown> {
    const path = textAt(submitted, 'status_url') ?? '';
    replaceActions(cancelButton(path));
    const lost = () => show('No connection. Retrying.');
    for (let job = submitted; ; job = await loadJob(path, lost)) {
      const status = textAt(job, 'status');
      if (status !== 'queued' && status !== 'generating') return job;
      show(status === 'generating' ? 'Generating' : `Queued${positionOf(job)}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  function cancelButton(path: string): HTMLElement {
    const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, 'Cancel');
    button.append(element('span', { class: 'visually-hidden' }, ` ${name}`));
    button.addEventListener('click', async () => {
      if (button.getAttribute('aria-disabled') === 'true') return;
      button.setAttribute('aria-disabled', 'true');
      // A job that has just ended cannot be cancelled: the next poll returns its result.
      await playJson(`${path}/cancel`, { method: 'POST', json: {} }).catch(() => undefined);
      button.removeAttribute('aria-disabled');
    });
    return button;
  }

  function againButton(): HTMLElement {
    const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, 'Try');
    button.append(element('span', { class: 'visually-hidden' }, ` ${name}`), ' again');
    button.addEventListener('click', () => {
      replaceActions();
      void run();
    });
    return button;
  }

  function showPicture(job: unknown): void {
    const [entry] = (job as { data?: readonly unknown[] }).data ?? [];
    const src = ownAddress(textAt(entry, 'url') ?? '');
    const [width, height] = [numberAt(entry, 'width'), numberAt(entry, 'height')];
    const size = { width: String(width ?? ''), height: String(height ?? '') };
    frame.replaceChildren(element('img', { src, alt: request.prompt, ...size }));
    const open = element('a', { href: src, target: '_blank', class: 'button button-quiet button-small' }, 'Open');
    const save = {
      href: src,
      download: textAt(entry, 'filename') ?? 'image',
      class: 'button button-quiet button-small',
    };
    replaceActions(open, element('a', save, 'Download'));
    work.replaceChildren(`${width} × ${height}`);
    news.textContent = `${name} is ready.`;
  }

  function end(message: string, parts: readonly (Node | string)[]): void {
    replaceActions();
    work.replaceChildren(element('p', { class: 'problem' }, ...parts));
    news.textContent = message;
  }
}

function positionOf(job: unknown): string {
  const position = numberAt(job, 'queue_position');
  return position === undefined ? '' : `, ${position} in the queue`;
}

function codeOf(job: unknown): HTMLElement {
  return element('span', { class: 'mono' }, textAt(job, 'error.code') ?? 'unknown');
}
