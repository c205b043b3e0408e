/*
 * Behaviour of the documentation: one language for all examples, which is remembered; the Markdown of a guide, to copy;
 * forms that send the request of an operation; and addresses of the former viewer of the API reference. A signed-in
 * person sends requests with the session of the page, others with a key that they paste, which is never stored.
 */

import { codeFigure, confirm, element, problemParts, signInPath } from './elements.js';
import { fieldAt } from './requests.js';

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

type Access = 'key' | 'session' | 'none';

/** Whether the visitor is signed in; asked once, when the first form is opened. */
let signedIn: Promise<boolean> | undefined;

async function loadSignedIn(): Promise<boolean> {
  const response = await fetch('/api/agent/session', { headers: { Accept: 'application/json' } });
  return response.ok && fieldAt(await response.json(), 'authenticated') === true;
}

for (const details of document.querySelectorAll<HTMLDetailsElement>('.try')) {
  const form = details.querySelector('form');
  if (!form) continue;
  for (const button of form.querySelectorAll('button')) button.disabled = false;
  details.addEventListener('toggle', () => prepare(form), { once: true });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form, details).catch((error: unknown) => showProblem(form, error));
  });
}

async function prepare(form: HTMLFormElement): Promise<void> {
  signedIn ??= loadSignedIn().catch(() => false);
  const isSignedIn = await signedIn;
  form.querySelector('.try-access')?.replaceChildren(...accessParts(form, isSignedIn));
}

function accessParts(form: HTMLFormElement, isSignedIn: boolean): Node[] {
  const access = form.dataset.access as Access;
  if (access === 'none') return [element('p', { class: 'small muted' }, 'This needs no key.')];
  if (isSignedIn) {
    const words =
      access === 'key'
        ? 'Sent with your session, without an API key. It counts like any other request of your account.'
        : 'Sent with your session. It changes your account as any other request does.';
    return [element('p', { class: 'small muted' }, words)];
  }
  const signIn = (words: string) => element('a', { href: signInPath() }, words);
  if (access === 'session')
    return [element('p', { class: 'small muted' }, signIn('Sign in'), ' to send this request.')];
  const id = `${form.id}-key`;
  const input = element('input', {
    class: 'input',
    id,
    name: 'key',
    type: 'password',
    autocomplete: 'off',
    required: true,
  });
  const label = element('label', { for: id }, 'API key');
  const hint = element('span', { class: 'hint' }, 'It stays in this page. You can also ', signIn('sign in'), '.');
  return [element('div', { class: 'field' }, label, input, hint)];
}

function showProblem(form: HTMLFormElement, error?: unknown): void {
  form.querySelector('.problem')?.replaceChildren(...(error === undefined ? [] : problemParts(error)));
}

async function send(form: HTMLFormElement, details: Element): Promise<void> {
  const { method = 'GET' } = form.dataset;
  showProblem(form);
  const request = requestOf(form, await signedIn);
  if (isGrave(form) && !(await confirmed(method, form))) return;
  const button = form.querySelector('button');
  const target = details.querySelector('.try-answer');
  button?.setAttribute('aria-disabled', 'true');
  target?.replaceChildren(element('p', { class: 'small muted' }, 'Sending …'));
  const startedAt = performance.now();
  try {
    const response = await fetch(request);
    const parts = await answerParts(response, form.id, () => Math.round(performance.now() - startedAt));
    target?.replaceChildren(...parts);
  } catch {
    target?.replaceChildren();
    showProblem(form, 'There was no answer. Check the connection and try again.');
  } finally {
    button?.removeAttribute('aria-disabled');
  }
}

/** Whether the request deletes something, or changes the account of the signed-in person. */
function isGrave({ dataset }: HTMLFormElement): boolean {
  return dataset.method === 'DELETE' || (dataset.access === 'session' && dataset.method !== 'GET');
}

async function confirmed(method: string, { dataset }: HTMLFormElement): Promise<boolean> {
  const words = `This really sends ${method} ${dataset.path}, and cannot be undone.`;
  return (await confirm({ words, yes: 'Send', isBad: true })) !== undefined;
}

/** @throws Error if the body is not JSON. */
function requestOf(form: HTMLFormElement, isSignedIn = false): Request {
  const { method = 'GET', access } = form.dataset;
  const fields = [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('[data-in]')];
  const inPlace = (place: string) => fields.filter(({ dataset, value }) => dataset.in === place && value !== '');
  const headers = new Headers();
  const key = form.querySelector<HTMLInputElement>('[name="key"]')?.value.trim();
  if (key) headers.set('Authorization', `Bearer ${key}`);
  const json = fields.find(({ dataset }) => dataset.in === 'json');
  if (json) headers.set('Content-Type', 'application/json');
  const prefix = access === 'key' && isSignedIn ? '/api/play' : '';
  const query = new URLSearchParams(inPlace('query').map(({ name, value }) => [name, value]));
  const path = inPlace('path').reduce(
    (rest, { name, value }) => rest.replace(`{${name}}`, encodeURIComponent(value)),
    form.dataset.path ?? '',
  );
  const parts = inPlace('form');
  const body = json ? checkedJson(json.value) : parts.length > 0 ? formData(parts) : null;
  return new Request(`${prefix}${path}${query.size > 0 ? `?${query}` : ''}`, { method, headers, body });
}

function checkedJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new Error(`The body is not valid JSON: ${error instanceof Error ? error.message : error}`);
  }
  return text;
}

function formData(parts: readonly (HTMLInputElement | HTMLTextAreaElement)[]): FormData {
  const data = new FormData();
  for (const part of parts) {
    const file = part instanceof HTMLInputElement ? part.files?.[0] : undefined;
    data.append(part.name, file ?? part.value);
  }
  return data;
}

/** Longer answers are cut here; the example shows how to get all of it. */
const MAX_SHOWN = 100_000;

async function answerParts(response: Response, id: string, elapsed: () => number): Promise<Node[]> {
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  const blob = await response.blob();
  const requestId = response.headers.get('x-request-id');
  const status = element(
    'p',
    { class: 'small' },
    element('strong', { class: response.ok ? 'good' : 'bad' }, String(response.status)),
    ` after ${elapsed()} ms${requestId ? `, request ${requestId}` : ''}`,
  );
  if (type.startsWith('audio/') || type.startsWith('video/')) {
    const player = element(type.startsWith('audio/') ? 'audio' : 'video', { controls: true });
    player.src = URL.createObjectURL(blob);
    return [status, player];
  }
  if (type.startsWith('image/')) return [status, element('img', { src: await dataUrlOf(blob), alt: 'The answer' })];
  if (!/json|text|xml|subrip/.test(type))
    return [status, element('p', { class: 'small' }, `${blob.size} bytes of ${type}`)];
  return [status, codeFigure(`${id}-result`, type, shownText(await blob.text(), type), type)];
}

function shownText(text: string, type: string): string {
  const whole = type.endsWith('json') && !type.includes('ndjson') ? pretty(text) : text;
  return whole.length > MAX_SHOWN ? `${whole.slice(0, MAX_SHOWN)}\n…` : whole;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The policy of pages allows images of data, but none of blobs. */
function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}
