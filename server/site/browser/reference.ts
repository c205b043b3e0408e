/*
 * Starts the viewer of the API reference, and adds accessibility attributes that it omits.
 */

type Viewer = (options: Readonly<Record<string, unknown>>) => unknown;

declare global {
  interface Window {
    SwaggerUIBundle?: Viewer;
  }
}

const dark = matchMedia('(prefers-color-scheme: dark)');
// The viewer's name of its dark mode; it follows the system, like the rest of the page.
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

/** Accessibility attributes that the viewer omits: elements, and the missing attributes; null removes one. */
const AMENDMENTS: readonly (readonly [selector: string, attributes: Readonly<Record<string, string | null>>])[] = [
  ['#servers', { 'aria-label': 'Server' }],
  // The page already has a main element, and a heading above these.
  ['main', { role: 'presentation', tabindex: null }],
  ['h3', { 'aria-level': '2' }],
  ['h4', { 'aria-level': '3' }],
  ['h5', { 'aria-level': '4' }],
  // A link within a button with the same action.
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

// Both scripts run after parsing, in document order; this one is first.
document.addEventListener('DOMContentLoaded', () => {
  const target = document.querySelector('#reference');
  if (target) new MutationObserver(() => amend(target)).observe(target, { childList: true, subtree: true });
  window.SwaggerUIBundle?.({
    url: '/openapi.json',
    dom_id: '#reference',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    // Keys are not stored beyond the visit.
    persistAuthorization: false,
    validatorUrl: null,
  });
});

export {};
