/*
 * Lists of links in the playground: they are pasted, or come from a file, and are read as a background batch. The newest
 * batches of the account are listed with their progress, so they are there after a reload; the form is folded beside
 * them. Results are a list of the first hundred, and files with all of them in the formats of the route.
 */

import { byId, element, FieldProblem, problemParts, whole } from '../elements.js';
import { ask, listAt, loadJob, newIdempotencyKey, numberAt, pause, play, playJson, textAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { isStillAt, onSubmit } from '../work.js';
import { showDocument } from './document-result.js';
import { resultList } from './link-batch-rows.js';

const t = textsOf('playground-batch');
const ROUTE = '/v1/extract/batches';
const MAX_LINKS = 10_000;
const LISTED = 5;
const SHOWN = 100;
/** Of a line that is no link, as far as it is repeated. */
const MAX_LINE = 60;
const POLL_MS = 2_000;
/** As the page writes times (`times.ts`). */
const DAY = new Intl.DateTimeFormat(
  'en-GB',
  document.documentElement.lang === 'vi' ? { day: '2-digit', month: '2-digit' } : { day: 'numeric', month: 'short' },
);
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

const form = byId('batch-form', HTMLFormElement);
/** Around the form. */
const fold = byId('batch-new', HTMLDetailsElement);
const list = byId('batch-list', HTMLUListElement);
const text = byId('batch-links', HTMLTextAreaElement);
const news = byId('batch-news', HTMLElement);
const file = byId('batch-file', HTMLInputElement);

/** Every address in a text, once, in order: one a line, or among the columns of a CSV file. */
function linksIn(content: string): string[] {
  const found = content.match(/https?:\/\/[^\s"'<>;]+/g) ?? [];
  return [...new Set(found.map((link) => link.replace(/[,)\]]+$/, '')))];
}

/** Lines of a list that have no address, and are left out. */
function otherLines(content: string): string[] {
  const lines = content.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && linksIn(line).length === 0);
}

async function addFile(chosen: File | undefined): Promise<void> {
  if (!chosen) return;
  const links = linksIn(await chosen.text());
  text.value = [text.value.trim(), ...links].filter((line) => line !== '').join('\n');
  file.value = '';
  news.textContent = fill(t.found, { count: whole(links.length) });
}

file.addEventListener('change', () => void addFile(file.files?.[0]));
for (const type of ['dragover', 'drop'] as const) {
  text.addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    if (type === 'drop') void addFile(event.dataTransfer.files[0]);
  });
}

onSubmit(form, async () => {
  const urls = linksIn(text.value);
  if (urls.length === 0) throw new FieldProblem(t.noLinks, 'links');
  if (urls.length > MAX_LINKS) throw new FieldProblem(fill(t.tooMany, { count: whole(urls.length) }), 'links');
  const entry = await submit(urls);
  news.textContent = leftOut(otherLines(text.value));
  text.value = '';
  const isThere = isStillAt(form);
  fold.open = false;
  if (isThere) entry.element.querySelector<HTMLElement>('button')?.focus({ preventScroll: true });
});

/** Sends a list, and shows it above the others. */
async function submit(urls: readonly string[]): Promise<BatchEntry> {
  const how = { method: 'POST', json: { urls }, idempotencyKey: newIdempotencyKey() } as const;
  const entry = new BatchEntry(await playJson(ROUTE, how));
  byId('batch-none', HTMLElement).hidden = true;
  list.prepend(entry.element);
  void entry.follow();
  return entry;
}

function leftOut(lines: readonly string[]): string {
  const [first = ''] = lines;
  const line = first.length > MAX_LINE ? `${first.slice(0, MAX_LINE)}…` : first;
  if (lines.length === 0) return '';
  return fill(lines.length === 1 ? t.notLink : t.notLinks, { line, count: whole(lines.length) });
}

/** Lists the newest batches. */
export async function startBatches(): Promise<void> {
  const none = byId('batch-none', HTMLElement);
  try {
    const batches = listAt(await playJson(`${ROUTE}?limit=${LISTED}`), 'data').map((batch) => new BatchEntry(batch));
    list.append(...batches.map((entry) => entry.element));
    none.textContent = t.none;
    none.hidden = batches.length > 0;
    if (batches.length > 0 && text.value === '') fold.open = false;
    for (const entry of batches) void entry.follow();
  } catch (error) {
    none.replaceChildren(...problemParts(error));
  }
}

/** One batch in the list, with the time when it was sent: its progress, and its results on request. */
class BatchEntry {
  readonly element = element('li', { class: 'card stack' });
  readonly #id: string;
  readonly #progress = element('progress', { max: '100', 'aria-hidden': 'true' });
  readonly #words = element('p', { class: 'small muted figures', role: 'status' });
  readonly #actions = element('div', { class: 'row' });
  readonly #results = element('div', {});
  #batch: unknown;

  constructor(batch: unknown) {
    this.#id = textAt(batch, 'id') ?? '';
    this.#batch = batch;
    const count = whole(numberAt(batch, 'progress.total') ?? 0);
    const title = element('h3', {}, fill(t.batch, { count }));
    const head = element('div', { class: 'batch-head' }, title, madeAt(textAt(batch, 'created_at') ?? ''), this.#words);
    const bar = element('div', { class: 'row row-apart' }, head, this.#actions);
    this.element.append(bar, this.#progress, this.#results);
    this.#show();
  }

  get #isOpen(): boolean {
    return ['queued', 'processing'].includes(textAt(this.#batch, 'status') ?? '');
  }

  async follow(): Promise<void> {
    const lost = () => {
      this.#words.textContent = t.noConnection;
    };
    try {
      while (this.#isOpen) {
        await pause(POLL_MS);
        this.#batch = await loadJob(`${ROUTE}/${this.#id}`, lost);
        this.#show();
      }
    } catch (error) {
      this.#results.replaceChildren(element('p', { class: 'problem' }, ...problemParts(error)));
    }
  }

  #show(): void {
    const [total = 0, completed = 0, failed = 0, percent = 0] = ['total', 'completed', 'failed', 'percent'].map(
      (name) => numberAt(this.#batch, `progress.${name}`),
    );
    const status = textAt(this.#batch, 'status') as keyof typeof t.states;
    const counts = { done: whole(completed), count: whole(total), failed: whole(failed) };
    this.#words.textContent = `${t.states[status] ?? status} · ${fill(t.done, counts)}`;
    this.#progress.value = percent;
    this.#progress.hidden = !this.#isOpen;
    const hadFocus = this.#actions.contains(document.activeElement);
    const isShown = this.#actions.dataset.status === status;
    if (isShown) return;
    this.#actions.dataset.status = status;
    this.#actions.replaceChildren(...this.#buttons());
    // What is shown of a batch that ran is a part of its results.
    if (this.#results.childElementCount > 0) void this.#showResults();
    if (hadFocus) this.#actions.querySelector<HTMLElement>('button, a')?.focus();
  }

  #buttons(): HTMLElement[] {
    const shown = quietButton(t.showResults, async () => {
      const isShown = this.#results.childElementCount > 0;
      if (isShown) this.#results.replaceChildren();
      else await this.#showNow();
      this.#nameButton(shown);
    });
    this.#nameButton(shown);
    if (this.#isOpen) return [shown, quietButton(t.cancel, () => this.#cancel())];
    const failed = numberAt(this.#batch, 'progress.failed') ?? 0;
    const again = failed > 0 ? [quietButton(t.retryFailed, () => this.#retryFailed())] : [];
    return [shown, ...again, this.#downloads()];
  }

  #nameButton(button: HTMLElement): void {
    const isShown = this.#results.childElementCount > 0;
    button.textContent = isShown ? t.hideResults : t.showResults;
    button.setAttribute('aria-expanded', String(isShown));
  }

  /** The results as files, in a menu. */
  #downloads(): HTMLElement {
    const path = `/api/play${ROUTE}/${this.#id}/results`;
    const save = (format: string, ending: string, label: string) => {
      const href = `${path}?format=${format}&limit=${MAX_LINKS}`;
      return element('a', { href, download: `links.${ending}` }, label);
    };
    return element(
      'details',
      { class: 'menu' },
      element('summary', { class: 'button button-small' }, t.download),
      element(
        'div',
        { class: 'menu-list' },
        save('csv', 'csv', t.csv),
        save('zip', 'zip', t.zip),
        save('ndjson', 'ndjson', t.json),
        save('m3u', 'm3u', t.playlist),
      ),
    );
  }

  /** The links that failed, as a list of their own. */
  async #retryFailed(): Promise<void> {
    try {
      const results = await this.#load(MAX_LINKS);
      const failed = results.filter((line) => textAt(line, 'status') !== 'completed');
      const entry = await submit(failed.flatMap((line) => textAt(line, 'url') ?? []));
      entry.element.querySelector<HTMLElement>('button')?.focus();
    } catch (error) {
      this.#results.replaceChildren(element('p', { class: 'problem' }, ...problemParts(error)));
    }
  }

  /** A batch that has just ended cannot be cancelled: the next poll shows it. */
  async #cancel(): Promise<void> {
    await ask(`/api/play${ROUTE}/${this.#id}`, { method: 'DELETE' }).catch(() => undefined);
  }

  /** With the progress of this moment, so that the line above the results is not behind them. */
  async #showNow(): Promise<void> {
    await this.#showResults();
    if (!this.#isOpen) return;
    this.#batch = await playJson(`${ROUTE}/${this.#id}`).catch(() => this.#batch);
    this.#show();
  }

  async #load(limit: number): Promise<unknown[]> {
    const answer = await (await play(`${ROUTE}/${this.#id}/results?limit=${limit}`)).text();
    return answer
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  }

  async #showResults(): Promise<void> {
    try {
      const results = await this.#load(SHOWN);
      const isCut = (numberAt(this.#batch, 'progress.total') ?? 0) > results.length;
      const note = isCut && element('p', { class: 'small muted' }, fill(t.firstOnly, { count: whole(results.length) }));
      const none = element('p', { class: 'muted' }, t.noResults);
      this.#results.replaceChildren(results.length === 0 ? none : await resultList(results, showDocument), note || '');
    } catch (error) {
      this.#results.replaceChildren(element('p', { class: 'problem' }, ...problemParts(error)));
    }
  }
}

/** When a list was sent, in the zone of the visitor: two of the same length are told apart. */
function madeAt(at: string): HTMLElement {
  const moment = new Date(at);
  const words = Number.isNaN(moment.getTime()) ? '' : `${DAY.format(moment)}, ${CLOCK.format(moment)}`;
  return element('time', { class: 'small muted figures', datetime: at }, words);
}

function quietButton(label: string, press: () => Promise<void>): HTMLButtonElement {
  const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, label);
  button.addEventListener('click', () => void press());
  return button;
}
