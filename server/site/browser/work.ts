import { element, markField, reveal, showProblem, unmarkFields } from './elements.js';

const TICK_MS = 1_000;

/** Shows that something goes on, and for how long; what comes back ends that. */
export function showWork(place: HTMLElement, words: string): (words?: string) => void {
  const startedAt = Date.now();
  // Told once; seconds that go by are for the eye alone.
  const seconds = element('span', { 'aria-hidden': 'true' });
  const text = element('span', {}, words);
  const tick = () => {
    seconds.textContent = ` ${Math.round((Date.now() - startedAt) / 1_000)} s`;
  };
  const timer = setInterval(tick, TICK_MS);
  place.replaceChildren(element('span', {}, text, seconds), element('progress', { 'aria-label': words }));
  return (last) => {
    clearInterval(timer);
    place.replaceChildren(...(last === undefined ? [] : [last]));
  };
}

/**
 * Runs what a form asks for, one at a time, and says what went wrong.
 *
 * @param problem Where it says so.
 */
export function onSubmit(
  form: HTMLFormElement,
  run: (fields: FormData) => Promise<void>,
  problem = form.querySelector('.problem'),
): void {
  const button = form.querySelector<HTMLButtonElement>('button:not([type="button"])');
  // What the browser finds itself does not bubble.
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
      showProblem(problem, error);
      markField(form, problem, error);
    } finally {
      button?.removeAttribute('aria-disabled');
    }
  });
  if (button) button.disabled = false;
}

/** Whether somebody who waits for what a form brings is still there, or nowhere: they are led on; others are left alone. */
export function isStillAt(place: Element | null): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || place?.contains(activeElement) === true;
}

/** Files that were dropped or chosen, and can be taken out again. */
export interface FileDrop {
  readonly files: readonly File[];
}

/** @param atMost Of more, the last ones stay, which is said. */
export function startFileDrop(input: HTMLInputElement, atMost: number): FileDrop {
  const area = input.closest<HTMLElement>('.drop');
  const list = area?.querySelector('.drop-files');
  const words = area?.querySelector('.drop-left');
  let files: File[] = [];

  function add(added: Iterable<File>): void {
    const all = [...files, ...added];
    files = all.slice(-atMost);
    const left = all.length - files.length;
    if (words && atMost > 1)
      words.textContent = left > 0 ? `${left} left out: there can be ${atMost}, and the last ones stay.` : '';
    // What is chosen is listed here; the same file may be chosen again.
    input.value = '';
    show();
  }

  function show(): void {
    list?.replaceChildren(...files.map(entry));
  }

  function entry(file: File): HTMLElement {
    const remove = element(
      'button',
      { type: 'button', class: 'link-button', 'aria-label': `Remove ${file.name}` },
      'Remove',
    );
    remove.addEventListener('click', () => {
      files = files.filter((other) => other !== file);
      show();
      input.focus();
    });
    const made = element('li', {}, element('span', {}, file.name), remove);
    if (file.type.startsWith('image/')) void showPicture(made, file);
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
  };
}

/** A file that cannot be read is refused once it is to be sent. */
async function showPicture(entry: HTMLElement, file: File): Promise<void> {
  const src = await toDataUri(file).catch(() => undefined);
  if (src !== undefined) entry.prepend(element('img', { src, alt: '' }));
}

export function toDataUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read.`)));
    reader.readAsDataURL(file);
  });
}
