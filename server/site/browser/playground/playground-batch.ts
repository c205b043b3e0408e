/*
 * The part of the playground for lists of links. What it does is loaded when it is opened for the first time, since most
 * visits do not; a reload of the page opens it again.
 */

const OPEN = 'links-of-playground';

const part = document.querySelector<HTMLDetailsElement>('#batch');
const form = part?.querySelector('form');
const button = form?.querySelector('button');

// A browser would put the links into the address of the page.
form?.addEventListener('submit', (event) => event.preventDefault());
if (button) button.disabled = false;
part?.addEventListener('toggle', () => {
  if (!part.open) return sessionStorage.removeItem(OPEN);
  sessionStorage.setItem(OPEN, 'true');
  import('./link-batches.js').catch(() => undefined);
});
if (part && !part.hidden && sessionStorage.getItem(OPEN) !== null) part.open = true;
