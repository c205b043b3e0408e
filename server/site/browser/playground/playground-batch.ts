/*
 * The part of the playground for lists of links. What it does is loaded when it is chosen for the first time, since most
 * visits do not; a reload of the page chooses it again.
 */

const CHOSEN = 'links-of-playground';

const several = document.querySelector<HTMLInputElement>('[name="links-part"][value="several"]');
const form = document.querySelector('#batch-form');
const button = form?.querySelector('button');

let isLoaded = false;
/** Whether the form was sent before what sends it was loaded. */
let wasPressed = false;

async function show(): Promise<void> {
  if (!several?.checked) return sessionStorage.removeItem(CHOSEN);
  sessionStorage.setItem(CHOSEN, 'true');
  const { startBatches } = await import('./links-later.js');
  if (isLoaded) return;
  isLoaded = true;
  void startBatches();
  if (wasPressed) button?.form?.requestSubmit();
}

form?.addEventListener('submit', (event) => {
  // A browser would put the links into the address of the page.
  event.preventDefault();
  wasPressed = !isLoaded;
});
if (button) button.disabled = false;
several?.closest('fieldset')?.addEventListener('change', () => void show());
/** A link of the address is one that a person has just given. */
const given = document.querySelector<HTMLInputElement>('#link-url')?.defaultValue;
if (several && !given && sessionStorage.getItem(CHOSEN) !== null) several.checked = true;
if (several?.checked) void show();
