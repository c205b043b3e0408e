import { element } from './elements.js';
import { markField, reveal, unmarkFields } from './field-problem.js';
import { showProblem } from './problem.js';

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
