import { element } from './elements.js';
import { RequestProblem } from './json-request.js';

/** Says what went wrong, in the gateway's words and with its code; nothing where nothing did. */
export function showProblem(place: Element | null, error?: unknown): void {
  place?.replaceChildren(...(error === undefined ? [] : problemParts(error)));
}

export function problemParts(error: unknown): (Node | string)[] {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RequestProblem)) return [message];
  const { code, status } = error;
  const said = element('span', { class: 'mono' }, status === 0 ? code : `${code} (${status})`);
  const parts: (Node | string)[] = [`${message} `, said];
  const way = wayOut(error);
  return way ? [...parts, ' ', way] : parts;
}

/** What to do about it, where the gateway says to programs only what it is. */
const ADVICE: Readonly<Record<string, string>> = {
  request_too_large: 'Choose a smaller file.',
  upstream_error: 'Try again in a moment.',
  upstream_timeout: 'Try again in a moment.',
};

function wayOut({ code }: RequestProblem): HTMLElement | string | undefined {
  if (Object.hasOwn(ADVICE, code)) return ADVICE[code];
  if (code === 'route_not_allowed') return element('a', { href: '/plans' }, 'See the plans');
  if (code === 'no_active_key') return element('a', { href: '/dashboard' }, 'Create a key');
  if (code === 'too_many_open_orders') return element('a', { href: '/dashboard#orders' }, 'See the orders');
  if (code === 'key_replaced') return element('a', { href: '/dashboard' }, 'Reload the page');
  if (code !== 'not_signed_in') return undefined;
  return element('a', { href: signInPath() }, 'Sign in');
}

/** Comes back to this page, as far down as it is. */
export function signInPath(): string {
  return `/login?return_to=${encodeURIComponent(location.pathname + location.hash)}`;
}
