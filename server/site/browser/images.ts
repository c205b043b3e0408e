/*
 * The page of images. Each requested image is a job of its own; its card is made by the gateway, is polled until the job
 * has ended, and is then replaced. Partial images are shown as they come, of two jobs at a time, since a browser keeps
 * few connections to a host. The focus stays on a card that is replaced. Deleting asks before.
 */

import { byId, confirm, element, FieldProblem } from './elements.js';
import { startLightbox } from './image-lightbox.js';
import { showImageCost, submitImage } from './image-submission.js';
import { loadJob, numberAt, pause, play, textAt } from './requests.js';
import { fill, textsOf } from './texts.js';
import { type FileDrop, onSubmit, startFileDrop, toDataUri } from './work.js';

const t = textsOf('images');
const MAX_REFERENCES = 4;
const PARTIAL_IMAGES = 2;
/** Polls are free; this interval is short enough for people, and far below the gateway's limit. */
const POLL_MS = 1_500;
const MAX_STREAMS = 2;

const cards = document.getElementById('image-cards');
const news = document.getElementById('image-news');
let streams = 0;

function startForm(form: HTMLFormElement): void {
  const input = form.querySelector<HTMLInputElement>('#image-references');
  showSeed(form);
  form.querySelector('#image-model')?.addEventListener('change', () => showSeed(form));
  const drop = input && startFileDrop(input, MAX_REFERENCES);
  if (input && drop) void addReference(input, drop);
  for (const sample of document.querySelectorAll('[data-sample]')) {
    sample.addEventListener('click', () => {
      const prompt = byId('image-prompt', HTMLTextAreaElement);
      prompt.value = sample.textContent;
      prompt.focus();
    });
  }
  onSubmit(form, async (fields) => {
    const image = await Promise.all((drop?.files ?? []).map(toDataUri));
    const seed = isSeedTaken(form) ? String(fields.get('seed')).trim() : '';
    if (!/^-?\d{0,15}$/.test(seed)) throw new FieldProblem(t.wholeSeed, 'seed');
    const request = {
      model: String(fields.get('model')),
      prompt: String(fields.get('prompt')),
      size: String(fields.get('size')),
      partial_images: PARTIAL_IMAGES,
      ...(seed !== '' && { seed: Number(seed) }),
      ...(image.length > 0 && { image }),
    };
    const made = await Promise.allSettled(
      Array.from({ length: Number(fields.get('count')) }, () => submitImage(request)),
    );
    const ids = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    for (const id of ids) await addCard(id);
    if (ids.length > 0) announce(fill(t.submitted, { count: ids.length }));
    // On a phone the list begins below the window.
    document.getElementById(ids.at(-1) ?? '')?.scrollIntoView({ block: 'nearest' });
    const failed = made.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
  });
  showImageCost(form, () => {
    const fields = new FormData(form);
    return { size: String(fields.get('size')), count: Number(fields.get('count')) };
  });
}

/** A seed is of no use to a model that ignores it. */
function showSeed(form: HTMLFormElement): void {
  form.querySelector('#image-seed-field')?.toggleAttribute('hidden', !isSeedTaken(form));
}

function isSeedTaken(form: HTMLFormElement): boolean {
  const [chosen] = form.querySelector<HTMLSelectElement>('#image-model')?.selectedOptions ?? [];
  return chosen?.dataset.takesSeed !== undefined;
}

/** An image of the account that the page names as an input. */
async function addReference(input: HTMLInputElement, drop: FileDrop): Promise<void> {
  const { reference, referenceName } = input.closest<HTMLElement>('[data-reference]')?.dataset ?? {};
  if (reference === undefined || input.disabled) return;
  try {
    const picture = await (await fetch(reference)).blob();
    drop.add([new File([picture], referenceName ?? 'image', { type: picture.type })]);
  } catch {
    announce(t.notLoaded);
  }
}

/** The card of a job as the gateway makes it; undefined if the job is gone. */
async function loadCard(id: string): Promise<HTMLElement | undefined> {
  const response = await fetch(`/images/${id}`).catch(() => undefined);
  if (!response?.ok) return undefined;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const card = page.querySelector<HTMLTemplateElement>('template#image-card')?.content.firstElementChild;
  return card instanceof HTMLElement ? document.importNode(card, true) : undefined;
}

async function addCard(id: string): Promise<void> {
  const card = await loadCard(id);
  if (!card || !cards || document.getElementById(id)) return;
  cards.prepend(card);
  showWhetherEmpty();
  follow(card);
}

function showWhetherEmpty(): void {
  document.getElementById('image-none')?.toggleAttribute('hidden', (cards?.childElementCount ?? 0) > 0);
}

/** Follows a job that has not ended; does nothing for others. */
function follow(card: HTMLElement): void {
  if (card.dataset.open === undefined) return;
  showSeconds(card);
  const timer = setInterval(() => showSeconds(card), 1_000);
  const stop = showPartials(card);
  void poll(card).finally(() => {
    clearInterval(timer);
    stop();
  });
}

async function poll(card: HTMLElement): Promise<void> {
  const { id } = card;
  const state = (words: string) => {
    const target = card.querySelector('.image-state');
    if (target && target.textContent !== words) target.textContent = words;
  };
  try {
    for (;;) {
      const job = await loadJob(`/v1/images/jobs/${id}`, () => state(t.noConnection));
      const status = textAt(job, 'status');
      if (status !== 'queued' && status !== 'generating') {
        await replace(card);
        return announce(status === 'completed' ? t.ended : t.endedOtherwise);
      }
      const position = numberAt(job, 'queue_position');
      const queued = position === undefined ? t.queued : fill(t.queuedAt, { position });
      state(status === 'generating' ? t.generating : queued);
      await pause(POLL_MS);
    }
  } catch {
    // The job is gone, or the session has ended: the page shows which after a reload.
    await replace(card);
  }
}

function showSeconds(card: HTMLElement): void {
  const seconds = card.querySelector('.image-seconds');
  const passed = Math.max(0, Math.floor((Date.now() - Number(card.dataset.created)) / 1_000));
  if (seconds) seconds.textContent = passed > 0 ? ` ${passed} s` : '';
}

/** A preview that is lost costs nothing. Call the result to stop. */
function showPartials(card: HTMLElement): () => void {
  if (streams >= MAX_STREAMS) return () => {};
  streams += 1;
  const source = new EventSource(`/api/play/v1/images/jobs/${card.id}/events`);
  source.addEventListener('image_generation.partial_image', ({ data }) => {
    const base64 = textAt(JSON.parse(data), 'b64_json');
    const frame = card.querySelector('.image-frame');
    if (base64 === undefined || !/^[\w+/=]+$/.test(base64) || !frame) return;
    const picture = element('img', { src: `data:image/png;base64,${base64}`, alt: '', class: 'image-partial' });
    frame.querySelector('.image-partial')?.remove();
    frame.prepend(picture);
  });
  let isOver = false;
  return () => {
    if (!isOver) streams -= 1;
    isOver = true;
    source.close();
  };
}

async function replace(card: HTMLElement): Promise<void> {
  const made = await loadCard(card.id);
  const hasFocus = card.contains(document.activeElement);
  if (made) card.replaceWith(made);
  else card.removeAttribute('data-open');
  if (hasFocus) made?.focus();
}

function announce(words: string): void {
  if (news) news.textContent = words;
}

/** A job that has just ended cannot be cancelled: the next poll shows its result. */
async function cancel(button: HTMLElement): Promise<void> {
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  await play(`/v1/images/jobs/${button.dataset.cancel}/cancel`, { method: 'POST', json: {} }).catch(() => undefined);
  button.removeAttribute('aria-disabled');
}

async function remove(form: HTMLFormElement): Promise<void> {
  const menu = form.closest('.menu');
  const confirmed = await confirm({ words: t.deleteQuestion, yes: t.delete, isBad: true });
  // The button is in a menu that has closed.
  if (!confirmed) return menu?.querySelector('summary')?.focus();
  const id = String(new FormData(form).get('id'));
  const card = cards?.querySelector<HTMLElement>(`#${CSS.escape(id)}`);
  // The page of the image has no list: the gateway answers with the page of all.
  if (!card) return form.submit();
  const body = new URLSearchParams({ id });
  const response = await fetch(form.action, { method: 'POST', body, redirect: 'manual' }).catch(() => undefined);
  if (response?.type !== 'opaqueredirect') return form.submit();
  document.querySelector<HTMLDialogElement>('dialog.lightbox')?.close();
  const next = card.nextElementSibling ?? card.previousElementSibling ?? document.getElementById('gallery-title');
  card.remove();
  showWhetherEmpty();
  if (next instanceof HTMLElement) next.focus();
  announce(t.deleted);
}

const form = document.querySelector<HTMLFormElement>('#image-form');
if (form) startForm(form);
for (const card of cards?.querySelectorAll<HTMLElement>('[data-open]') ?? []) follow(card);
if (cards) startLightbox(cards);
document.addEventListener('submit', (event) => {
  const { target } = event;
  if (!(target instanceof HTMLFormElement) || target.dataset.delete === undefined) return;
  event.preventDefault();
  void remove(target);
});
document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>('[data-cancel]') : null;
  if (button) void cancel(button);
});
