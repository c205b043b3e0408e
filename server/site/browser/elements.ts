/*
 * Builds the elements of the pages' scripts, and formats numbers, sizes and prices. External text never becomes markup,
 * and links are made only of http and https addresses. The file also displays errors of the gateway with the next step,
 * marks the field that an error is about, and asks for confirmations. In a confirmation the focus begins at the button
 * that refuses, so that a key that is held down confirms nothing.
 */

import type { CodeLine } from '../highlight.js';
import { RequestProblem } from './requests.js';
import { fill, pageLanguage, textsOf } from './texts.js';

const t = textsOf('page');

type Attributes = Readonly<Record<string, string | boolean | undefined>>;
type Child = Node | string | false | undefined;

/** An element with text and elements in it. Nothing becomes markup: external text stays text. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== false && child !== undefined));
  return made;
}

/** @throws Error if the page has none with that id. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${kind.name} #${id}`);
}

/** An external link; only text if the URL is not http or https. */
export function webLink(url: string | undefined, words: string, attributes: Attributes = {}): HTMLElement {
  if (url === undefined || !/^https?:\/\//.test(url)) return element('span', {}, words);
  return element('a', { href: url, target: '_blank', rel: 'noopener noreferrer', ...attributes }, words);
}

/** Code with a button that copies it. @param language As {@link coloured} takes it. Default: it has no colours. */
export function codeFigure(id: string, title: string, text: string, language?: string): HTMLElement {
  const copy = element(
    'button',
    { type: 'button', class: 'button button-quiet button-small copy', 'data-copy': id },
    element('span', { 'aria-live': 'polite' }, t.copy),
    element('span', { class: 'visually-hidden' }, ` ${title}`),
  );
  const figure = element(
    'figure',
    { class: 'code code-tall' },
    element('figcaption', { class: 'code-head' }, element('span', {}, title), copy),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': title }, element('code', { id }, text)),
  );
  return language === undefined ? figure : coloured(figure, language);
}

/**
 * Colours each code in it, by the rules of the server, which are loaded with the first one; without them it has none.
 * @param language A language, a media type or the name of a file.
 */
export function coloured<Part extends HTMLElement>(part: Part, language: string): Part {
  void addColours(part, language);
  return part;
}

async function addColours(part: HTMLElement, language: string): Promise<void> {
  const rules = await import('../highlight.js').catch(() => undefined);
  if (!rules) return;
  for (const code of part.querySelectorAll('pre > code')) {
    const lines = rules.linesOfCode(code.textContent, rules.codeLanguageOf(language));
    if (lines) code.replaceChildren(...lines.map(codeLine));
  }
}

/** As the server has it in its pages. */
function codeLine({ className, parts }: CodeLine): HTMLElement {
  const words = parts.flatMap(({ isWhole, tokens }) => {
    const pieces = tokens.flatMap(({ text, kind, mayBreak }) => [
      kind === undefined ? text : element('span', { class: `code-${kind}` }, text),
      mayBreak && element('wbr'),
    ]);
    return isWhole ? [element('span', { class: 'code-part' }, ...pieces)] : pieces;
  });
  return element('span', { class: className }, ...words);
}

/** Displays an error in the gateway's sentence; removes it without one. */
export function showProblem(target: Element | null, error?: unknown): void {
  target?.replaceChildren(...(error === undefined ? [] : problemParts(error)));
}

/**
 * The message, what can be done, and the reason. The code is for programs, and stays in an attribute. A refusal of the
 * platform leads to what the documentation says about it.
 */
export function problemParts(error: unknown): (Node | string)[] {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RequestProblem)) return [message];
  const isRefusal = error.type === 'extraction_failed';
  const parts: (Node | string)[] = [element(isRefusal ? 'strong' : 'span', { 'data-code': error.code }, message)];
  const way = wayOut(error);
  if (way) parts.push(' ', way);
  const reason = error.reason?.replace(/\.$/, '');
  const words = reason === undefined ? '' : fill(isRefusal ? t.platformReason : t.otherReason, { reason });
  if (!isRefusal) return [...parts, words && ` ${words}`];
  const link = element('a', { href: `/docs/api/errors#${error.code}` }, t.aboutError);
  return [...parts, element('span', { class: 'small muted problem-reason' }, words, ' ', link)];
}

/** What to do about it, if the gateway's message is for programs. */
const ADVICE: Readonly<Record<string, string>> = {
  request_too_large: t.smallerFile,
  upstream_error: t.tryInMoment,
  upstream_timeout: t.tryInMoment,
  private: t.onlyPublic,
  login_required: t.onlyWithoutAccount,
  removed: t.checkLink,
  rate_limited: t.tryInMinutes,
  source_timeout: t.tryInMoment,
  source_failed: t.tryInMoment,
};

function wayOut({ code }: RequestProblem): HTMLElement | string | undefined {
  if (Object.hasOwn(ADVICE, code)) return ADVICE[code];
  if (code === 'route_not_allowed') return element('a', { href: '/plans' }, t.seePlans);
  if (code === 'too_many_open_orders') return element('a', { href: '/dashboard#orders' }, t.seeOrders);
  if (code === 'key_replaced') return element('a', { href: location.pathname }, t.reloadPage);
  if (code !== 'not_signed_in') return undefined;
  return element('a', { href: signInPath() }, t.signIn);
}

/** Returns to this page, at the same scroll position. */
export function signInPath(): string {
  return `/login?return_to=${encodeURIComponent(location.pathname + location.hash)}`;
}

/** An invalid field, found before anything is sent. */
export class FieldProblem extends Error {
  /** @param field Its name in the form. */
  constructor(
    message: string,
    readonly field: string,
  ) {
    super(message);
  }
}

/** Where an error stands while it is at no field. */
const places = new WeakMap<Element, Comment>();

/** Below the group of fields, the row, or the field that it is about. */
function moveBeside(field: Element, problem: Element): void {
  const place = document.createComment('');
  problem.before(place);
  places.set(problem, place);
  const row = field.closest('.form-row, .options');
  const group = field.closest('fieldset:not(.form-body)') ?? (row ? null : field.closest('.field'));
  if (group) group.append(problem);
  else row?.after(problem);
}

/**
 * Moves the error to the field it is about, and focuses it: the field with the `name`, or `data-param`, that the gateway
 * named.
 */
export function markField(form: HTMLFormElement, problem: Element | null, error: unknown): void {
  const name = error instanceof FieldProblem ? error.field : error instanceof RequestProblem ? error.param : undefined;
  const field = name === undefined || !problem ? undefined : fieldOf(form, name);
  if (!field || !problem) return;
  problem.id ||= `${form.id}-problem`;
  moveBeside(field, problem);
  field.setAttribute('aria-invalid', 'true');
  const described = field.getAttribute('aria-describedby');
  field.dataset.described ??= described ?? '';
  field.setAttribute('aria-describedby', [problem.id, described].filter(Boolean).join(' '));
  reveal(field);
  field.focus();
}

export function unmarkFields(form: HTMLFormElement): void {
  const problem = form.querySelector('.problem');
  if (problem) places.get(problem)?.replaceWith(problem);
  for (const field of form.querySelectorAll<HTMLElement>('[aria-invalid]')) {
    const { described = '' } = field.dataset;
    field.removeAttribute('aria-invalid');
    delete field.dataset.described;
    if (described === '') field.removeAttribute('aria-describedby');
    else field.setAttribute('aria-describedby', described);
  }
}

/** A field in a folded part cannot be focused. */
export function reveal(field: Element): void {
  field.closest('details')?.setAttribute('open', '');
}

/** @param param `prompt`, `messages[0].content`. */
function fieldOf(form: HTMLFormElement, param: string): HTMLElement | undefined {
  const [name] = param.split(/[.[]/);
  return [...form.querySelectorAll<HTMLElement>('input, select, textarea')].find(
    (field) =>
      field.getAttribute('type') !== 'hidden' && [field.dataset.param, field.getAttribute('name')].includes(name),
  );
}

export interface Question {
  words: string;
  /** Label of the confirming button. */
  yes: string;
  /** Whether it cannot be undone. */
  isBad: boolean;
  /** Label of a box that may be ticked. Default: there is none. */
  choice?: string;
}

/** A confirmation. */
export interface Confirmed {
  /** Whether the box is ticked. */
  isTicked: boolean;
}

/** Asks for confirmation. Resolves with undefined without one. */
export function confirm({ words, yes, isBad, choice }: Question): Promise<Confirmed | undefined> {
  const text = element('p', { id: 'question' }, words);
  const agree = element('button', { value: 'yes', class: isBad ? 'button button-bad' : 'button' }, yes);
  // A key that is held down must not confirm.
  const refuse = element('button', { value: 'no', class: 'button button-quiet', autofocus: true }, t.goBack);
  const row = element('div', { class: 'row' }, agree, refuse);
  const box = element('input', { type: 'checkbox' });
  const boxes = choice === undefined ? [] : [element('label', {}, box, ` ${choice}`)];
  const form = element('form', { method: 'dialog', class: 'stack' }, text, ...boxes, row);
  const dialog = element('dialog', { 'aria-labelledby': text.id }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'yes' ? { isTicked: box.checked } : undefined);
      dialog.remove();
    });
  });
}

const WHOLE = new Intl.NumberFormat(pageLanguage(), { maximumFractionDigits: 0 });
const AMOUNT = new Intl.NumberFormat(pageLanguage(), { maximumFractionDigits: 1 });

export function whole(value: number): string {
  return WHOLE.format(value);
}

export function amount(value: number): string {
  return AMOUNT.format(value);
}

export function bytes(value: number): string {
  if (value < 1_000_000) return `${amount(value / 1_000)} kB`;
  return `${amount(value / 1_000_000)} MB`;
}

/** `3:32`, `1:03:32`. */
export function clock(seconds: number): string {
  const total = Math.round(seconds);
  const parts = [Math.floor(total / 60) % 60, total % 60];
  const hours = Math.floor(total / 3_600);
  const [minutes = 0, rest = 0] = parts;
  const tail = `${hours > 0 ? String(minutes).padStart(2, '0') : minutes}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** `23:03:32`, as the page of an order writes it. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** Money in the major unit of its currency. Unknown currencies are printed beside the number. */
export function price(value: number, currency: string | undefined): string {
  try {
    if (currency !== undefined)
      return new Intl.NumberFormat(pageLanguage(), { style: 'currency', currency }).format(value);
  } catch {
    return `${AMOUNT.format(value)} ${currency}`;
  }
  return AMOUNT.format(value);
}
