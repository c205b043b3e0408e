/*
 * Filters of a page: a form that works without scripts, since it sends its fields as the query of the same page. Fields
 * that are empty do not limit. On a phone the form is folded, as it would fill the screen, and its line names the values
 * that limit. Links with other fields keep the rest. Days are chosen by links for the usual spans; others in two fields, which
 * need the script of their calendar, and work without it.
 */

import type { DayRange } from '../../usage/index.js';
import type { Locale } from '../language/index.js';
import { type Html, html } from '../page.js';
import { dayField } from './day-input.js';

export interface Choice {
  value: string;
  label: string;
}

export type FilterField = { name: string; label: string; value: string | undefined } & (
  | { kind: 'text'; placeholder?: string; suggestions?: readonly string[] }
  | { kind: 'choice'; all: string; choices: readonly Choice[] }
);

export interface FilterView {
  /** Path of the page. */
  path: string;
  /** For screen readers. */
  label: string;
  /** The days that are shown. Default: the page has none. */
  days?: DaysView;
  fields: readonly FilterField[];
  /** Fields of the query that stay as they are. Default: none. */
  hidden?: Readonly<Record<string, string | undefined>>;
  /** Address without filters. Default: none is set. */
  reset?: string | undefined;
  /** Whether the fields are folded in wide windows too, unless one of them limits. Default false. */
  isFolded?: boolean;
}

export interface DaysView {
  range: DayRange;
  /** By UTC. */
  today: string;
  /** Spans besides today, yesterday, 7 and 30 days, and this month. Default: none. */
  longer?: readonly number[];
  /** Whether no days mean all of them, which an empty range says. Default false. */
  isOptional?: boolean;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const SPANS = [7, 30] as const;
const YEAR = 365;

/** Links to the usual spans; everything else stays as it is. */
export function spanLinks(
  {
    path,
    days,
    fields = [],
    hidden = {},
  }: Pick<FilterView, 'path' | 'hidden'> & { days: DaysView; fields?: readonly FilterField[] },
  { texts }: Locale,
): Html {
  const { range, today, longer = [], isOptional = false } = days;
  const t = texts.words.spans;
  const before = (count: number) => new Date(Date.parse(today) - count * DAY_MS).toISOString().slice(0, 10);
  const lastDays = (count: number) => ({
    label: count === YEAR ? t.year : texts.words.days(count),
    from: before(count - 1),
    to: today,
  });
  const spans = [
    { label: t.today, from: today, to: today },
    { label: t.yesterday, from: before(1), to: before(1) },
    ...SPANS.map(lastDays),
    { label: t.month, from: `${today.slice(0, 7)}-01`, to: today },
    ...longer.map(lastDays),
  ];
  const query = { ...hidden, ...Object.fromEntries(fields.map(({ name, value }) => [name, value])) };
  const current = spans.findIndex(({ from, to }) => from === range.from && to === range.to);
  const all = {
    label: texts.usage.all,
    href: linkTo(path, query),
    isCurrent: range.from === '' && range.to === '',
  };
  const links = spans.map(({ label, from, to }, index) => ({
    label,
    href: linkTo(path, { from, to, ...query }),
    isCurrent: index === current,
  }));
  return linkRow(t.days, isOptional ? [all, ...links] : links, 'spans');
}

function renderDays({ range, today }: DaysView, locale: Locale): Html {
  const { spans: t } = locale.texts.words;
  const day = (name: keyof DayRange) =>
    dayField(t[name], { id: `filter-${name}`, name, value: range[name], example: today, max: today }, locale);
  return html`<div class="day-range" role="group" aria-label="${t.days}">${day('from')}${day('to')}</div>`;
}

export function filterForm(view: FilterView, locale: Locale): Html {
  const { path, label, days, fields, hidden = {}, reset, isFolded = false } = view;
  const { words: t } = locale.texts;
  const chosen = fields.flatMap(chosenLabel);
  const undo =
    reset !== undefined && chosen.length > 0 && html`<a class="small filters-reset" href="${reset}">${t.reset}</a>`;
  return html`${days && spanLinks({ ...view, days }, locale)}${undo}<details class="${isFolded ? 'filters-fold filters-folded' : 'fold filters-fold'}"${isFolded && chosen.length > 0 && html` open`}><summary>${t.filters}${chosen.map((label) => html` <bdi class="badge">${label}</bdi>`)}</summary><form class="filters" method="get" action="${path}" aria-label="${label}">
${Object.entries(hidden).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
${days && renderDays(days, locale)}${fields.map(renderField)}
<div class="filters-end"><button class="button button-quiet">${t.show}</button>
${reset !== undefined && html`<a class="button button-quiet" href="${reset}">${t.reset}</a>`}</div>
</form></details>`;
}

/** The label of the value that limits; none if the field does not. */
export function chosenLabel(field: FilterField): string[] {
  const { kind, value } = field;
  if (value === undefined || value === '') return [];
  if (kind === 'text') return [value];
  return [field.choices.find((choice) => choice.value === value)?.label ?? value];
}

/** A card with nothing but the form. */
export function filterCard(view: FilterView, locale: Locale): Html {
  return html`<section class="card filter-card" aria-label="${locale.texts.words.filters}">${filterForm(view, locale)}</section>`;
}

function renderField(field: FilterField): Html {
  const id = `filter-${field.name}`;
  return html`<div class="field"><label for="${id}">${field.label}</label>${renderInput(field, id)}</div>`;
}

function renderInput(field: FilterField, id: string): Html {
  const { name, value = '' } = field;
  if (field.kind === 'choice') {
    const { all, choices } = field;
    // A value that is no longer offered still filters, so it is shown.
    const known = choices.some((choice) => choice.value === value);
    const more = value === '' || known ? [] : [{ value, label: value }];
    return html`<select class="input" id="${id}" name="${name}"><option value="">${all}</option>${[
      ...choices,
      ...more,
    ].map(
      (choice) =>
        html`<option value="${choice.value}"${choice.value === value && html` selected`}>${choice.label}</option>`,
    )}</select>`;
  }
  const { placeholder, suggestions = [] } = field;
  const list = suggestions.length > 0 && html` list="${id}-list"`;
  return html`<input class="input" id="${id}" name="${name}" value="${value}" maxlength="200" autocomplete="off" spellcheck="false"${
    placeholder !== undefined && html` placeholder="${placeholder}"`
  }${list}>${
    suggestions.length > 0 &&
    html`<datalist id="${id}-list">${suggestions.map((text) => html`<option value="${text}">`)}</datalist>`
  }`;
}

/** A path with a query; fields without a value are left out. */
export function linkTo(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}

export interface LinkRow {
  label: string;
  /** How many there are, written. Default: it is not said. */
  count?: string | undefined;
  href: string;
  isCurrent: boolean;
}

/**
 * Links of which one is where the page is: parts of the account, days, or dimensions. `spans` stand within a page; they
 * and `long` rows move sideways on a phone.
 */
export function linkRow(label: string, links: readonly LinkRow[], kind: 'tabs' | 'long' | 'spans' = 'tabs'): Html {
  return html`<nav class="${kind === 'spans' ? 'span-row' : 'link-row'}" aria-label="${label}"><ul${kind !== 'tabs' && html` class="sideways"`}>${links.map(
    (link) =>
      html`<li><a href="${link.href}"${link.isCurrent && html` aria-current="true"`}>${link.label}${link.count !== undefined && html` <span class="count">${link.count}</span>`}</a></li>`,
  )}</ul></nav>`;
}

const ACCOUNT_PAGES = [
  ['/dashboard', 'overview'],
  ['/keys', 'keysPage'],
  ['/usage', 'usage'],
  ['/requests', 'requestsPage'],
  ['/images', 'imagesPage'],
  ['/orders', 'orders'],
] as const;

/** The pages of an account. */
export function accountPages(current: string, { texts: { words: t } }: Locale): Html {
  return linkRow(
    t.account,
    ACCOUNT_PAGES.map(([href, label]) => ({ href, label: t[label], isCurrent: href === current })),
  );
}
