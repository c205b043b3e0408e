/*
 * Remembers Enter in a form whose script has not arrived yet: its button is disabled until then, so the browser itself
 * does nothing. The script of the form sends it when it is ready (`work.ts`), unless something was typed meanwhile. It is
 * a part of the script with the texts, which comes before all others.
 */

/** The form in which Enter was pressed. */
interface Early {
  pressedIn?: HTMLFormElement;
}

addEventListener('keydown', (event) => {
  const { target } = event;
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  const isLine = target instanceof HTMLInputElement && target.type !== 'file';
  const isMessage = target instanceof HTMLTextAreaElement && target.dataset.enterSends !== undefined;
  if (!isLine && !isMessage) return;
  const { form } = target;
  if (!form?.querySelector('button:not([type="button"]):disabled')) return;
  if (isMessage) event.preventDefault();
  (globalThis as Early).pressedIn = form;
});

addEventListener('input', () => {
  delete (globalThis as Early).pressedIn;
});
