/*
 * The calendar of a field of a day: a modal dialog with the days of a month as a grid, after the pattern of WAI-ARIA for
 * choosing a date. Arrow keys move by days and weeks, Home and End within the week, Page Up and Page Down by months, with
 * Shift by years; Enter chooses, Esc leaves the field as it is. Weeks begin on Monday, and days are by UTC, as in the field.
 */

import type { ScriptTexts } from '../language/script-texts.js';
import { readTypedDay } from '../language/typed-day.js';

/** Without `texts.ts`, as page.ts. */
const t = (globalThis as unknown as { siteTexts: ScriptTexts }).siteTexts.page;

const DAY_MS = 86_400_000;
const isVietnamese = document.documentElement.lang === 'vi';

/** Formats of the page's language. Dates in numbers are those of English in both, as the server writes them. */
function dates(options: Intl.DateTimeFormatOptions, language = isVietnamese ? 'vi' : 'en-GB'): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' });
}

function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name] ?? '');
  made.append(...children);
  return made;
}

const isoOf = (at: number) => new Date(at).toISOString().slice(0, 10);

/** The same day of another month, or its last one. */
function inMonth(at: number, months: number): number {
  const from = new Date(at);
  const end = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months + 1, 0);
  return Math.min(end, Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, from.getUTCDate()));
}

/** Days since Monday. */
const weekdayOf = (at: number) => (new Date(at).getUTCDay() + 6) % 7;

function openCalendar(button: HTMLElement, input: HTMLInputElement): void {
  const { min = '', max = '9999' } = button.dataset;
  const today = isoOf(Date.now());
  const chosen = readTypedDay(input.value);
  const title = make('h2', { id: 'calendar-month', 'aria-live': 'polite' });
  const body = make('tbody', {});
  const [weekdays, month, whole] = [
    dates({ weekday: isVietnamese ? 'narrow' : 'short' }),
    dates({ month: 'long', year: 'numeric' }),
    dates({ dateStyle: 'full' }),
  ];
  const heads = Array.from({ length: 7 }, (_, index) =>
    make('th', { scope: 'col' }, weekdays.format((4 + index) * DAY_MS)),
  );
  let at = Date.parse(chosen ?? today);

  /** Shows the month of a day, and that day as the one that keys move. */
  function show(next: number, hasFocus = true): void {
    at = Math.max(Date.parse(min) || next, Math.min(Date.parse(max), next));
    const [year, of] = [new Date(at).getUTCFullYear(), new Date(at).getUTCMonth()];
    title.textContent = month.format(at);
    const first = Date.UTC(year, of);
    const end = Date.UTC(year, of + 1);
    const weeks: HTMLElement[] = [];
    for (let week = first - weekdayOf(first) * DAY_MS; week < end; week += 7 * DAY_MS) {
      const days = Array.from({ length: 7 }, (_, index) => week + index * DAY_MS);
      weeks.push(make('tr', {}, ...days.map((day) => (day < first || day >= end ? make('td', {}) : cellOf(day)))));
    }
    body.replaceChildren(...weeks);
    if (hasFocus) body.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }

  function cellOf(day: number): HTMLElement {
    const iso = isoOf(day);
    const one = make(
      'button',
      { type: 'button', tabindex: day === at ? '0' : '-1', 'aria-label': whole.format(day) },
      String(new Date(day).getUTCDate()),
    );
    one.disabled = iso < min || iso > max;
    if (iso === today) one.setAttribute('aria-current', 'date');
    one.onclick = () => {
      input.value = dates(
        isVietnamese ? { day: '2-digit', month: '2-digit', year: 'numeric' } : { dateStyle: 'medium' },
        'en-GB',
      ).format(day);
      input.dispatchEvent(new Event('input', { bubbles: true }));
      dialog.close();
    };
    return make('td', iso === chosen ? { 'aria-selected': 'true' } : {}, one);
  }

  const step = (months: number, label: string, sign: string) => {
    const made = make('button', { type: 'button', 'aria-label': label }, sign);
    made.onclick = () => show(inMonth(at, months), false);
    return made;
  };
  const head = make('div', {}, step(-1, t.previousMonth, '‹'), title, step(1, t.nextMonth, '›'));
  const grid = make(
    'table',
    { role: 'grid', 'aria-labelledby': title.id },
    make('thead', {}, make('tr', {}, ...heads)),
    body,
  );
  const dialog = make(
    'dialog',
    { class: 'calendar', 'aria-label': button.ariaLabel ?? '' },
    make('div', {}, head, grid),
  );
  body.onkeydown = (event) => {
    const months = event.shiftKey ? 12 : 1;
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: at - DAY_MS,
      ArrowRight: at + DAY_MS,
      ArrowUp: at - 7 * DAY_MS,
      ArrowDown: at + 7 * DAY_MS,
      Home: at - weekdayOf(at) * DAY_MS,
      End: at + (6 - weekdayOf(at)) * DAY_MS,
      PageUp: inMonth(at, -months),
      PageDown: inMonth(at, months),
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  };
  // All of the dialog is its child: what is pressed besides that is around it.
  dialog.onclick = ({ target }) => target === dialog && dialog.close();
  dialog.onclose = () => dialog.remove();
  button.after(dialog);
  dialog.showModal();
  show(at);
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>('[data-day]') : null;
  const input = button?.previousElementSibling;
  if (button && input instanceof HTMLInputElement) openCalendar(button, input);
});
