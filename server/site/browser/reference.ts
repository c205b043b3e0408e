type Viewer = (options: Readonly<Record<string, unknown>>) => unknown;

declare global {
  interface Window {
    SwaggerUIBundle?: Viewer;
  }
}

const dark = matchMedia('(prefers-color-scheme: dark)');
// What the viewer calls its dark look; as the rest of the page, it follows the machine.
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

/**
 * What the viewer leaves out for whoever does not see it, or has no mouse: elements, and the attributes that they lack; null
 * is one too many.
 */
const AMENDMENTS: readonly (readonly [selector: string, attributes: Readonly<Record<string, string | null>>])[] = [
  ['#servers', { 'aria-label': 'Server' }],
  // The page has a main part already, and a heading above all of these.
  ['main', { role: 'presentation', tabindex: null }],
  ['h3', { 'aria-level': '2' }],
  ['h4', { 'aria-level': '3' }],
  ['h5', { 'aria-level': '4' }],
  // A link within the button that does the same.
  ['button a', { href: null }],
  ['.responses-inner', { tabindex: '0', role: 'group', 'aria-label': 'Responses' }],
  ['pre', { tabindex: '0', role: 'group', 'aria-label': 'Code' }],
];

function amend(priority: Element): void {
  for (const [selector, attributes] of AMENDMENTS) {
    for (const found of priority.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) {
        if (value === null) found.removeAttribute(name);
        else if (found.getAttribute(name) !== value) found.setAttribute(name, value);
      }
    }
  }
}

// Both scripts wait for the page, in the order they stand in; this one is first.
document.addEventListener('DOMContentLoaded', () => {
  const place = document.querySelector('#reference');
  if (place) new MutationObserver(() => amend(place)).observe(place, { childList: true, subtree: true });
  window.SwaggerUIBundle?.({
    url: '/openapi.json',
    dom_id: '#reference',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    // No key outlives the visit.
    persistAuthorization: false,
    validatorUrl: null,
  });
});

export {};
