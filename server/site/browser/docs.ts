/*
 * Behaviour of the documentation: one language for all examples, which is remembered; the Markdown of a guide, to copy;
 * forms that send the request of an operation, whose script is loaded when the first of them is opened; and addresses of
 * the former viewer of the API reference.
 */

const LANGUAGE = 'docs-language';

function showLanguage(language: string): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.languages input')) {
    if (input.value === language) input.checked = true;
  }
}

document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.matches('.languages input')) return;
  const before = target.getBoundingClientRect().top;
  showLanguage(target.value);
  // Examples above have other heights in another language.
  scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' });
  remember(target.value);
});

function remember(language: string): void {
  try {
    localStorage.setItem(LANGUAGE, language);
  } catch {
    // Storage is blocked: the choice lasts for this page.
  }
}

try {
  const known = localStorage.getItem(LANGUAGE);
  if (known !== null) showLanguage(known);
} catch {
  // As above.
}

/** `/docs#/Images/postV1ImagesJobs` was an address of the former viewer. */
const [, former] = /^#\/[^/]+\/(\w+)$/.exec(location.hash) ?? [];
const moved = former && document.querySelector<HTMLAnchorElement>(`[data-operations~="${former}"] a`);
if (moved) location.replace(`${moved.href}#${former}`);

/** Opens what the address names: older browsers do not reveal what is folded. */
function reveal(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target?.closest<HTMLDetailsElement>('.docs-fold:not([open])');
  if (!target || !fold) return;
  fold.open = true;
  target.scrollIntoView();
}

/** Where the styles show all parts of a guide, they are open to screen readers too. */
if (matchMedia('(min-width: 64rem)').matches) {
  for (const fold of document.querySelectorAll<HTMLDetailsElement>('.guide .docs-fold')) fold.open = true;
}

addEventListener('hashchange', reveal);
reveal();

/** Marks the part of the page that is being read, among those of this page. */
const places = [...document.querySelectorAll<HTMLAnchorElement>('.docs-toc a')].flatMap((link) => {
  const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  return target ? [{ link, target }] : [];
});
const TOP = 120;

function markPlace(): void {
  const passed = places.filter(({ target }) => (target.closest('details') ?? target).getBoundingClientRect().top < TOP);
  const current = passed.at(-1) ?? places[0];
  for (const { link } of places) {
    if (link === current?.link) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

if (places.length > 0) {
  addEventListener('scroll', () => requestAnimationFrame(markPlace), { passive: true });
  markPlace();
}

const navigation = document.getElementById('docs-navigation');
navigation?.addEventListener('click', ({ target }) => {
  if (target instanceof HTMLAnchorElement && navigation.matches(':popover-open')) navigation.hidePopover();
});

/** Copies the Markdown of the page, which is a file of its own. */
document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>('[data-markdown]') : null;
  const label = button?.querySelector('span');
  if (!button?.dataset.markdown || !label) return;
  try {
    const response = await fetch(button.dataset.markdown);
    await navigator.clipboard.writeText(await response.text());
    label.textContent = button.dataset.copied ?? '';
  } catch {
    // Without TLS, or without permission, there is no clipboard.
    location.assign(button.dataset.markdown);
  }
});

for (const details of document.querySelectorAll<HTMLDetailsElement>('.try')) {
  const form = details.querySelector('form');
  if (!form) continue;
  for (const button of form.querySelectorAll('button')) button.disabled = false;
  let opened: Promise<void> | undefined;
  const open = () => {
    opened ??= import('./docs-try.js').then(({ openForm }) => openForm(form, details));
    return opened;
  };
  // Without its script the form cannot be sent.
  details.addEventListener('toggle', () => void open().catch(() => undefined), { once: true });
  let isWaiting = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (isWaiting || form.dataset.opened !== undefined) return;
    isWaiting = true;
    // What is pressed before the script has come is sent then.
    open().then(
      () => form.requestSubmit(),
      () => undefined,
    );
  });
}
