import { byId, element } from './elements.js';
import { numberAt, textAt } from './json-members.js';
import { ownAddress, playJson } from './play-request.js';
import { problemParts } from './problem.js';
import { showWork } from './work.js';

export interface ImageRequest {
  model: string;
  prompt: string;
  size: string;
  /** Data URIs of pictures to start from. */
  image?: readonly string[];
}

/** Polls cost nothing; so often is soon enough for whoever looks on, and far below what the gateway lets one do. */
const POLL_MS = 1_500;

const cards = byId('image-cards', HTMLUListElement);
const news = byId('image-news', HTMLElement);
let made = 0;

/** One image: submitted, followed, shown. Newest first. */
export function addImageCard(request: ImageRequest): void {
  made += 1;
  const name = `Image ${made}`;
  const frame = element('div', { class: 'image-frame' });
  const work = element('div', { class: 'work' });
  const actions = element('div', { class: 'row' });
  const text = element('p', { class: 'small muted image-prompt' }, request.prompt);
  const card = element('li', { class: 'card image-card', 'aria-label': name }, frame, text, work, actions);
  cards.prepend(card);
  frame.append(element('span', { class: 'muted small' }, name));
  void run();

  async function run(): Promise<void> {
    const done = showWork(work, 'Waiting for its turn');
    try {
      const submitted = await playJson('/v1/images/jobs', { method: 'POST', json: request });
      const job = await follow(submitted);
      done();
      if (textAt(job, 'status') === 'completed') showPicture(job);
      else if (textAt(job, 'status') === 'cancelled') end(`${name} was cancelled.`, ['Cancelled.']);
      else end(`${name} failed.`, [textAt(job, 'error.message') ?? 'It failed.', ' ', codeOf(job)]);
    } catch (error) {
      done();
      end(`${name} failed.`, problemParts(error));
    }
  }

  async function follow(submitted: unknown): Promise<unknown> {
    const path = textAt(submitted, 'status_url') ?? '';
    actions.replaceChildren(cancelButton(path));
    let done: ReturnType<typeof showWork> | undefined;
    let shown: string | undefined;
    for (let job = submitted; ; job = await playJson(path)) {
      const status = textAt(job, 'status');
      if (status !== 'queued' && status !== 'generating') {
        done?.();
        return job;
      }
      const words = status === 'generating' ? 'Being made' : `Waiting for its turn${placeOf(job)}`;
      if (words !== shown) done = showWork(work, words);
      shown = words;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  function cancelButton(path: string): HTMLElement {
    const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, 'Cancel');
    button.append(element('span', { class: 'visually-hidden' }, ` ${name}`));
    button.addEventListener('click', async () => {
      button.setAttribute('aria-disabled', 'true');
      // One that ended a moment ago cannot be cancelled: the next poll says how it ended.
      await playJson(`${path}/cancel`, { method: 'POST', json: {} }).catch(() => undefined);
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
    actions.replaceChildren(open, element('a', save, 'Download'));
    work.replaceChildren(`${width} × ${height}`);
    news.textContent = `${name} is ready.`;
  }

  function end(told: string, parts: readonly (Node | string)[]): void {
    actions.replaceChildren();
    work.replaceChildren(element('p', { class: 'problem' }, ...parts));
    news.textContent = told;
  }
}

function placeOf(job: unknown): string {
  const position = numberAt(job, 'queue_position');
  return position === undefined ? '' : `, ${position} in the queue`;
}

function codeOf(job: unknown): HTMLElement {
  return element('span', { class: 'mono' }, textAt(job, 'error.code') ?? 'unknown');
}
