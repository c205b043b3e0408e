/*
 * The part of the playground for lists of links. What it does is loaded when it is opened for the first time, since most
 * visits do not; a reload of the page opens it again.
 */

const OPEN = 'links-of-playground';

const part = document.querySelector<HTMLDetailsElement>('#batch');
const form = part?.querySelector('form');
const button = form?.querySelector('button');

let isLoaded = false;
/** Whether the form was sent before what sends it was loaded. */
let wasPressed = false;

form?.addEventListener('submit', (event) => {
  // A browser would put the links into the address of the page.
  event.preventDefault();
  wasPressed = !isLoaded;
});
if (button) button.disabled = false;
part?.addEventListener('toggle', async () => {
  if (!part.open) return sessionStorage.removeItem(OPEN);
  sessionStorage.setItem(OPEN, 'true');
  await import('./link-batches.js');
  isLoaded = true;
  if (wasPressed) form?.requestSubmit();
  wasPressed = false;
});
if (part && !part.hidden && sessionStorage.getItem(OPEN) !== null) part.open = true;
