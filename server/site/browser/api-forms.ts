/*
 * Sends forms with `data-api="POST /path"` as JSON; `data-problem="id"` is the element for errors. Before sending,
 * `data-confirm` asks; `data-choice="name=value"` offers a box, labelled `data-choice-label`, that adds this field.
 * After it, `data-then="/path/{field}"` navigates, and `data-show="id"` displays the field that `data-key` names, once.
 * A request without an answer is repeated with the same key, so that it is done once. Values are texts, but numbers in
 * fields with `data-number`; forms with `data-limits` are those of keys.ts.
 */

import { confirm, signInPath } from './elements.js';
import { fieldOf, newIdempotencyKey, RequestProblem, requestJson } from './requests.js';
import { textsOf } from './texts.js';
import { onSubmit } from './work.js';

/** Connects one form; its attributes are described on top of this file. @param read Default: its fields. */
export function startApiForm(form: HTMLFormElement, read: (form: HTMLFormElement) => object = fieldsOf): void {
  const [method = 'POST', path = ''] = (form.dataset.api ?? '').split(' ');
  const keyFor = createRepeats();

  async function send(): Promise<void> {
    const chosen = await askIfMeant(form);
    if (!chosen) return;
    const body = { ...read(form), ...chosen };
    const repeat = keyFor(JSON.stringify(body));
    try {
      const answer = await requestJson(method, path, body, { 'Idempotency-Key': repeat.key });
      repeat.over();
      await finish(form, answer);
    } catch (error) {
      if (error instanceof RequestProblem && !error.isPassing) repeat.over();
      if (!(error instanceof RequestProblem) || error.status !== 401) throw error;
      await leave(signInPath());
    }
  }

  onSubmit(form, send, document.getElementById(form.dataset.problem ?? ''));
}

/** A request without an answer is repeated with the same key, so that it is done once. */
function createRepeats(): (sent: string) => { key: string; over(): void } {
  let open: { sent: string; key: string } | undefined;
  const over = () => {
    open = undefined;
  };
  return (sent) => {
    open = open?.sent === sent ? open : { sent, key: newIdempotencyKey() };
    return { key: open.key, over };
  };
}

/** The field that was chosen; undefined if it was not meant. */
async function askIfMeant(form: HTMLFormElement): Promise<Record<string, string> | undefined> {
  const menu = form.closest('.menu');
  const { confirm: words, confirmLabel = textsOf('page').yes, confirmBad, choice, choiceLabel } = form.dataset;
  if (words === undefined) return {};
  const confirmed = await confirm({ words, yes: confirmLabel, isBad: confirmBad !== undefined, choice: choiceLabel });
  // The button is in a menu that has closed.
  if (!confirmed) menu?.querySelector('summary')?.focus();
  const [name = '', value = ''] = (choice ?? '').split('=');
  return confirmed && (confirmed.isTicked ? { [name]: value } : {});
}

function fieldsOf(form: HTMLFormElement): Record<string, string | number> {
  const isNumber = (name: string) => form.querySelector(`[name="${name}"][data-number]`) !== null;
  return Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, isNumber(name) ? Number(value) : String(value).trim()]),
  );
}

async function finish(form: HTMLFormElement, answer: unknown): Promise<void> {
  const { then, show, key } = form.dataset;
  if (show !== undefined && key !== undefined) showOnce(show, fieldOf(answer, key));
  if (then === undefined) return;
  await leave(then.replace(/\{([\w.]+)\}/g, (_whole, path: string) => encodeURIComponent(fieldOf(answer, path) ?? '')));
}

/** Resolves only if the browser displays this page again: until then, nothing must be sent again. */
function leave(to: string): Promise<void> {
  location.assign(to);
  return new Promise((resolve) => {
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) resolve();
    });
  });
}

function showOnce(id: string, text: string | undefined): void {
  const target = document.getElementById(id);
  const panel = target?.closest<HTMLElement>('[hidden]');
  if (!target || text === undefined) return;
  target.textContent = text;
  panel?.removeAttribute('hidden');
  panel?.focus();
}

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-api]:not([data-limits])')) startApiForm(form);
