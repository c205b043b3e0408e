/*
 * What forms of the playground share: progress with its duration, one submission at a time with its errors, and files
 * that are dropped or chosen and can be removed again. The progress is announced once; its running seconds are only
 * visible. Work that takes long can be cancelled, which is no error. A request without an answer can be sent again with
 * one press. When work has ended, the focus moves on only if it is still where it was. Of too many files only the last
 * ones are kept, with a message.
 */

import { element, markField, reveal, showProblem, unmarkFields } from './elements.js';
import { RequestProblem } from './requests.js';
import { fill, textsOf } from './texts.js';

const t = textsOf('page');

const TICK_MS = 1_000;

/**
 * Displays progress with its duration; call the result to end it.
 * @param cancel What a button beside it does. Default: there is none.
 */
export function showWork(target: HTMLElement, words: string, cancel?: () => void): (words?: string) => void {
  const startedAt = Date.now();
  // Announced once; the running seconds are only visible.
  const seconds = element('span', { class: 'figures', 'aria-hidden': 'true' });
  const text = element('span', {}, words);
  const tick = () => {
    seconds.textContent = ` ${Math.round((Date.now() - startedAt) / 1_000)} s`;
  };
  const timer = setInterval(tick, TICK_MS);
  const line = element(
    'div',
    { class: 'row row-apart' },
    element('span', {}, text, seconds),
    cancel && cancelButton(cancel),
  );
  target.replaceChildren(line, element('progress', { 'aria-label': words }));
  return (last) => {
    clearInterval(timer);
    target.replaceChildren(...(last === undefined ? [] : [last]));
  };
}

/** Not a part of what is announced. */
function cancelButton(cancel: () => void): HTMLElement {
  const attributes = { type: 'button', class: 'button button-quiet button-small', 'aria-live': 'off' };
  const button = element('button', attributes, t.cancel);
  button.addEventListener('click', cancel);
  return button;
}

/** Work that ends at once when it is cancelled, with the error of an abort. */
export async function cancellable<Result>(
  run: (signal: AbortSignal, cancel: () => void) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { signal } = controller;
  const cancelled = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  return Promise.race([cancelled, run(signal, () => controller.abort())]);
}

function isCancelled(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/**
 * Runs the action of a form, one at a time, and displays errors. Ctrl+Enter in a text of several lines submits it.
 *
 * @param problem Element of the errors.
 */
export function onSubmit(
  form: HTMLFormElement,
  run: (fields: FormData) => Promise<void>,
  problem = form.querySelector('.problem'),
): void {
  const button = form.querySelector<HTMLButtonElement>('button:not([type="button"])');
  form.addEventListener('change', () => showCost(form));
  showCost(form);
  // The browser's own validation events do not bubble.
  form.addEventListener('invalid', ({ target }) => target instanceof Element && reveal(target), { capture: true });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (button?.getAttribute('aria-disabled') === 'true') return;
    showProblem(problem);
    unmarkFields(form);
    button?.setAttribute('aria-disabled', 'true');
    try {
      await run(new FormData(form));
    } catch (error) {
      if (isCancelled(error)) return;
      showProblem(problem, error);
      if (isUnanswered(error)) problem?.append(' ', retryButton(form));
      markField(form, problem, error);
    } finally {
      button?.removeAttribute('aria-disabled');
    }
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  if (!button) return;
  button.disabled = false;
  if ((globalThis as { pressedIn?: HTMLFormElement }).pressedIn !== form || button.matches(':disabled')) return;
  // All scripts of the page are there by then.
  queueMicrotask(() => form.requestSubmit());
}

/** What one run of the chosen model costs. */
export function showCost(form: HTMLFormElement): void {
  const shown = form.querySelector('.run-cost');
  const model = form.elements.namedItem('model');
  if (shown && model instanceof HTMLSelectElement) shown.textContent = model.selectedOptions[0]?.dataset.cost ?? '';
}

/** Whether the same request may work in a moment. */
function isUnanswered(error: unknown): boolean {
  return error instanceof RequestProblem && error.status === 0;
}

function retryButton(form: HTMLFormElement): HTMLElement {
  const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, t.tryAgain);
  button.addEventListener('click', () => form.requestSubmit());
  return button;
}

/** Whether the focus is still on the element or nowhere: then it is moved on; otherwise it stays. */
export function isStillAt(target: Element | null): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || target?.contains(activeElement) === true;
}

/** Dropped or chosen files, which can be removed again. */
export interface FileDrop {
  readonly files: readonly File[];
  /** As if they were chosen, for files that are pasted or recorded. */
  add(files: Iterable<File>): void;
  clear(): void;
}

/**
 * @param atMost Of more files, only the last ones are kept, with a message.
 * @param playerOf Plays audio. Default: audio is named alone.
 */
export function startFileDrop(
  input: HTMLInputElement,
  atMost: number,
  playerOf?: (file: File) => HTMLElement,
): FileDrop {
  const area = input.closest<HTMLElement>('.drop');
  const list = area?.querySelector('.drop-files');
  const words = area?.querySelector('.drop-left');
  let files: File[] = [];

  function add(added: Iterable<File>): void {
    const all = [...files, ...added];
    files = all.slice(-atMost);
    const left = all.length - files.length;
    if (words && atMost > 1) words.textContent = left > 0 ? fill(t.leftOut, { count: left, most: atMost }) : '';
    // Chosen files are listed here; the same file may be chosen again.
    input.value = '';
    show();
  }

  function show(): void {
    list?.replaceChildren(...files.map(entry));
  }

  function entry(file: File): HTMLElement {
    const remove = element(
      'button',
      { type: 'button', class: 'link-button', 'aria-label': fill(t.removeFile, { name: file.name }) },
      t.remove,
    );
    remove.addEventListener('click', () => {
      files = files.filter((other) => other !== file);
      show();
      input.focus();
    });
    const made = element('li', {}, element('span', {}, file.name), remove);
    if (file.type.startsWith('image/')) void showPicture(made, file);
    if (playerOf && file.type.startsWith('audio/')) made.append(playerOf(file));
    return made;
  }

  input.addEventListener('change', () => add(input.files ?? []));
  for (const type of ['dragenter', 'dragover', 'dragleave', 'drop'] as const) {
    area?.addEventListener(type, (event) => {
      event.preventDefault();
      const isOver = type === 'dragenter' || type === 'dragover';
      area.classList.toggle('drop-over', isOver && !input.matches(':disabled'));
      if (type === 'drop' && !input.matches(':disabled')) add(event.dataTransfer?.files ?? []);
    });
  }
  return {
    get files() {
      return files;
    },
    add,
    clear() {
      files = [];
      show();
    },
  };
}

/** An unreadable file is reported when it is sent. */
async function showPicture(entry: HTMLElement, file: File): Promise<void> {
  const src = await toDataUri(file).catch(() => undefined);
  if (src !== undefined) entry.prepend(element('img', { src, alt: '' }));
}

export function toDataUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(new Error(fill(t.unreadable, { name: file.name }))));
    reader.readAsDataURL(file);
  });
}
