/*
 * Filters of a page: a form that works without scripts, since it sends its fields as the query of the same page. Fields
 * that are empty do not limit. On a phone the form is folded, as it would fill the screen, and its line names the values that limit.
 * Links with other fields keep the rest, and links to a range of days set both ends.
 */

import type { Locale } from '../language/index.js';
import { type Html, html } from '../page.js';

export interface Choice {
  value: string;
  label: string;
}

export type FilterField = { name: string; label: string; value: string | undefined } & (
  | { kind: 'day'; max?: string }
  | { kind: 'text'; placeholder?: string; suggestions?: readonly string[] }
  | { kind: 'choice'; all: string; choices: readonly Choice[] }
);

export interface FilterView {
  /** Path of the page. */
  path: string;
  /** For screen readers. */
  label: string;
  fields: readonly FilterField[];
  /** Fields of the query that stay as they are. Default: none. */
  hidden?: Readonly<Record<string, string | undefined>>;
  /** Address without filters. Default: none is set. */
  reset?: string | undefined;
}

export function filterForm(
  { path, label, fields, hidden = {}, reset }: FilterView,
  { texts: { words: t } }: Locale,
): Html {
  const chosen = fields.flatMap(chosenLabel);
  return html`<details class="fold filters-fold"><summary>${t.filters}${chosen.map((label) => html` <bdi class="badge">${label}</bdi>`)}</summary><form class="filters" method="get" action="${path}" aria-label="${label}">
${Object.entries(hidden).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
${fields.map(renderField)}
<div class="filters-end"><button class="button button-quiet">${t.show}</button>
${reset !== undefined && html`<a class="button button-quiet" href="${reset}">${t.reset}</a>`}</div>
</form></details>`;
}

/** Days are left out: they always limit. */
function chosenLabel(field: FilterField): string[] {
  const { kind, value } = field;
  if (kind === 'day' || value === undefined || value === '') return [];
  if (kind === 'text') return [value];
  return [field.choices.find((choice) => choice.value === value)?.label ?? value];
}

/** A card with nothing but the form. */
export function filterCard(view: FilterView, locale: Locale): Html {
  return html`<section class="card" aria-label="${locale.texts.words.filters}">${filterForm(view, locale)}</section>`;
}

function renderField(field: FilterField): Html {
  const id = `filter-${field.name}`;
  return html`<div class="field"><label for="${id}">${field.label}</label>${renderInput(field, id)}</div>`;
}

function renderInput(field: FilterField, id: string): Html {
  const { name, value = '' } = field;
  if (field.kind === 'day') {
    const max = field.max !== undefined && html` max="${field.max}"`;
    return html`<input class="input" type="date" id="${id}" name="${name}" value="${value}"${max}>`;
  }
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
  href: string;
  isCurrent: boolean;
}

/** Links of which one is where the page is: parts of the account, days, or dimensions. */
export function linkRow(label: string, links: readonly LinkRow[]): Html {
  return html`<nav class="link-row" aria-label="${label}"><ul>${links.map(
    (link) => html`<li><a href="${link.href}"${link.isCurrent && html` aria-current="true"`}>${link.label}</a></li>`,
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
