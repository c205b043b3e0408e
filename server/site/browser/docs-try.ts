/*
 * The form of an operation in the documentation: sends its request and shows the answer in place of the example, with
 * what the reference says about its status or its error code. A signed-in person sends requests with the session of the
 * page, others with a key that they paste, which is never stored. Requests that delete something, or change the account,
 * are confirmed first.
 */

import { docsTexts } from './docs-texts.js';
import { codeFigure, confirm, element, problemParts, signInPath } from './elements.js';
import { fieldAt } from './requests.js';
import { fill } from './texts.js';

type Access = 'key' | 'session' | 'none';

/** Whether the visitor is signed in; asked once, when the first form is opened. */
let signedIn: Promise<boolean> | undefined;

async function loadSignedIn(): Promise<boolean> {
  const response = await fetch('/api/agent/session', { headers: { Accept: 'application/json' } });
  return response.ok && fieldAt(await response.json(), 'authenticated') === true;
}

export async function openForm(form: HTMLFormElement, details: HTMLDetailsElement): Promise<void> {
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('submit', () => {
    send(form, details).catch((error: unknown) => showProblem(form, error));
  });
  form.dataset.opened = '';
  await prepare(form);
}

async function prepare(form: HTMLFormElement): Promise<void> {
  signedIn ??= loadSignedIn().catch(() => false);
  const isSignedIn = await signedIn;
  form.querySelector('.try-access')?.replaceChildren(...accessParts(form, isSignedIn));
}

function accessParts(form: HTMLFormElement, isSignedIn: boolean): Node[] {
  const t = docsTexts();
  const access = form.dataset.access as Access;
  if (access === 'none') return [element('p', { class: 'small muted' }, t.noKey)];
  if (isSignedIn) return [element('p', { class: 'small muted' }, access === 'key' ? t.withSession : t.changesAccount)];
  const signIn = (words: string) => element('a', { href: signInPath() }, words);
  if (access === 'session') return [element('p', { class: 'small muted' }, signIn(t.signIn), ` ${t.toSend}`)];
  const id = `${form.id}-key`;
  const input = element('input', {
    class: 'input',
    id,
    name: 'key',
    type: 'password',
    autocomplete: 'off',
    required: true,
  });
  const label = element('label', { for: id }, t.apiKey);
  const hint = element('span', { class: 'hint' }, `${t.keyStays} `, signIn(t.signInSmall), '.');
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
  const t = docsTexts();
  const button = form.querySelector('button');
  const target = details.querySelector('.try-answer');
  button?.setAttribute('aria-disabled', 'true');
  target?.replaceChildren(element('p', { class: 'small muted' }, t.sending));
  const startedAt = performance.now();
  try {
    const response = await fetch(request);
    const parts = await answerParts(response, form.id, () => Math.round(performance.now() - startedAt));
    target?.replaceChildren(...parts);
    const example = details.closest('.operation')?.querySelector<HTMLElement>('.answer-example');
    if (example) example.hidden = true;
  } catch {
    target?.replaceChildren();
    showProblem(form, t.noAnswer);
  } finally {
    button?.removeAttribute('aria-disabled');
  }
}

/** Whether the request deletes something, or changes the account of the signed-in person. */
function isGrave({ dataset }: HTMLFormElement): boolean {
  return dataset.method === 'DELETE' || (dataset.access === 'session' && dataset.method !== 'GET');
}

async function confirmed(method: string, { dataset }: HTMLFormElement): Promise<boolean> {
  const { grave, send: yes } = docsTexts();
  const words = fill(grave, { request: `${method} ${dataset.path}` });
  return (await confirm({ words, yes, isBad: true })) !== undefined;
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
    throw new Error(fill(docsTexts().notJson, { reason: error instanceof Error ? error.message : String(error) }));
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
  const t = docsTexts();
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  const blob = await response.blob();
  const requestId = response.headers.get('x-request-id') ?? '';
  const status = element(
    'p',
    { class: 'small' },
    element('strong', { class: response.ok ? 'good' : 'bad' }, String(response.status)),
    ` ${fill(t.after, { ms: elapsed(), id: requestId })}`,
  );
  const parts = [status, ...meaningOf(id, response.status)];
  if (type.startsWith('audio/') || type.startsWith('video/')) {
    const player = element(type.startsWith('audio/') ? 'audio' : 'video', { controls: true });
    player.src = URL.createObjectURL(blob);
    return [...parts, player];
  }
  if (type.startsWith('image/')) return [...parts, element('img', { src: await dataUrlOf(blob), alt: t.picture })];
  if (!/json|text|xml|subrip/.test(type))
    return [...parts, element('p', { class: 'small' }, fill(t.bytes, { bytes: blob.size, type }))];
  const text = await blob.text();
  const figure = codeFigure(`${id}-result`, type, shownText(text, type), type);
  return [...parts, ...(response.ok ? nextCall(text) : []), figure, ...(response.ok ? [] : aboutError(text))];
}

/** Leads from a job to the operation that reads it, with its id filled in. */
function nextCall(text: string): Node[] {
  const address = fieldAt(parsed(text), 'status_url');
  if (typeof address !== 'string') return [];
  const { pathname } = new URL(address, location.href);
  for (const form of document.querySelectorAll<HTMLFormElement>('.try-form[data-method="GET"]')) {
    const names: string[] = [];
    const pattern = (form.dataset.path ?? '').replace(/\{(\w+)\}/g, (_, name: string) => {
      names.push(name);
      return '([^/]+)';
    });
    const [, ...values] = new RegExp(`^${pattern}$`).exec(pathname) ?? [];
    if (names.length === 0 || values.length !== names.length) continue;
    const operation = form.closest('.operation');
    const title = operation?.previousElementSibling?.querySelector('h2')?.textContent ?? pathname;
    const link = element('a', { href: `#${operation?.id}` }, fill(docsTexts().next, { operation: title }));
    link.addEventListener('click', () => {
      for (const [index, name] of names.entries()) {
        const input = form.querySelector<HTMLInputElement>(`[data-in="path"][name="${name}"]`);
        if (input) input.value = decodeURIComponent(values[index] ?? '');
      }
      const details = form.closest('details');
      if (details) details.open = true;
    });
    return [element('p', { class: 'small' }, link)];
  }
  return [];
}

/** What the reference says about answers with this status. */
function meaningOf(id: string, status: number): Node[] {
  const operation = document.getElementById(id)?.closest('.operation');
  const rows = [...(operation?.querySelectorAll('.answers > div') ?? [])];
  const row = rows.find((one) => one.querySelector('.status')?.textContent === String(status));
  const words = row?.querySelector('dd > p')?.cloneNode(true);
  return words ? [element('div', { class: 'small muted' }, words)] : [];
}

/** Leads to the row of the code. */
function aboutError(text: string): Node[] {
  const code = fieldAt(parsed(text), 'error.code');
  if (typeof code !== 'string' || !/^\w+$/.test(code)) return [];
  const link = element('a', { href: `/docs/api/errors#${code}` }, docsTexts().aboutCode);
  return [element('p', { class: 'small' }, link)];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
