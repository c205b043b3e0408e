/*
 * Forms of the console. An action is a button that opens a dialog: it names what it acts on, states its effect in words,
 * asks for a reason, and has a button with a verb beside Cancel, so that no single click changes anything and the page
 * below stays where it is. The dialog is a popover of the browser and needs no script; after a mistake it is open from the
 * start, with the reason in it. Fields offer what is usual by one choice: days, spans and budgets.
 */

import type { GatewayError } from '../../core/runtime/index.js';
import { type BudgetState, MICROS } from '../budgets/index.js';
import { dayField, type Html, type HtmlValue, html, type Locale } from '../site/index.js';

const MAX_NOTE = 500;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface ActionView {
  /** Path of its route, below `/admin`. */
  path: string;
  /** Unique in the page, without blanks. Default: the path. */
  id?: string;
  /** Label of the button that opens it, a few words. */
  label: string;
  /** What it acts on: a name, a code, an amount. Default: nothing that is there. */
  about?: HtmlValue;
  /** What it will do. */
  words: Html | string;
  /** Title, and label of the button that does it, with a verb. */
  button: string;
  /** Whether it takes something from a user: the button that does it is red, the one that opens the dialog is not. */
  isBad?: boolean;
  /** Fields besides the reason. */
  fields?: HtmlValue;
  /** Whether it asks for no reason, since none is recorded. Default false. */
  hasNoReason?: boolean;
  /** Whether it is what one comes to the page for. Default false. */
  isPrimary?: boolean;
  /** Label of the button that closes the dialog. Default: Cancel. */
  dismiss?: string;
  /** Whether it is open at first, after a mistake. Default false. */
  isOpen?: boolean;
}

/** A button, and the dialog with a form that it opens. @param problem Why the form that is open failed. */
export function action(view: ActionView, locale: Locale, problem?: GatewayError): Html {
  const kind = html`button button-small${!view.isPrimary && html` button-quiet`}`;
  return html`<div class="action">${opener(view, kind)}
${dialog(view, locale, problem)}</div>`;
}

/** Actions that are rare, behind one button. @param what Name of what they act on, for screen readers. */
export function actionMenu(what: string, views: readonly (ActionView | false)[], locale: Locale): Html | false {
  const known = views.filter((view) => view !== false);
  if (known.length === 0) return false;
  // The dialogs are beside the menu: one in it would close with it.
  return html`<div class="action"><details class="menu menu-end"><summary class="button button-small button-quiet"><span aria-hidden="true">⋯</span><span class="visually-hidden">${locale.texts.console.more} <bdi>${what}</bdi></span></summary>
<div class="menu-list">${known.map((view) => opener(view, html`link-button`))}</div></details>
${known.map((view) => dialog(view, locale))}</div>`;
}

function opener({ path, id = path, label }: ActionView, kind: Html): Html {
  return html`<button type="button" class="${kind}" popovertarget="do-${id}" aria-haspopup="dialog">${label}</button>`;
}

function dialog(view: ActionView, locale: Locale, problem?: GatewayError): Html {
  const { path, id: own = path, about, words, button, isBad, fields, hasNoReason, isOpen } = view;
  const t = locale.texts.console;
  const { dismiss = t.cancel } = view;
  const id = `do-${own}`;
  const note = `note-${own}`;
  const cancel = isOpen
    ? html`<button class="button button-quiet" form="close-${own}">${dismiss}</button>`
    : html`<button type="button" class="button button-quiet" popovertarget="${id}" popovertargetaction="hide">${dismiss}</button>`;
  return html`<dialog class="action-dialog" id="${id}" aria-labelledby="title-${own}" popover${isOpen && html` open`}>${isOpen && html`<form method="dialog" id="close-${own}"></form>`}
<form class="stack" method="post" action="/admin${path}">
<div class="action-head"><h2 id="title-${own}">${button}</h2>${about !== undefined && html`<p>${about}</p>`}</div>
${isOpen && problem && renderProblem(problem, locale)}<p class="small muted">${words}</p>
${fields}${!hasNoReason && html`<div class="field"><label for="${note}">${t.reason}</label><input class="input" id="${note}" name="note" maxlength="${MAX_NOTE}" autocomplete="off" placeholder="${t.reasonHint}"></div>`}
<div class="action-end">${cancel}<button class="button${isBad && html` button-bad`}">${button}</button></div>
</form></dialog>`;
}

/** Actions beside each other. */
export function actions(list: readonly (Html | false)[]): Html | false {
  return list.some((one) => one !== false) && html`<div class="actions">${list}</div>`;
}

/** The message names the field and what is accepted; it is for programs as well, and stays English. */
export function renderProblem({ code, message }: GatewayError, { texts }: Locale): Html {
  return html`<div class="problem" role="alert" tabindex="-1" autofocus><strong>${texts.console.failed}</strong> ${texts.errors.meaningOf(code)}<br><span class="small" lang="en">${message}</span></div>`;
}

/** Whether a part of a page states why its form failed. No text of a user can: it is escaped. */
export function statesProblem({ markup }: Html): boolean {
  return markup.includes('<div class="problem"');
}

export interface TextField {
  name: string;
  label: string;
  /** Unique in the page. Default: the name. */
  id?: string;
  value?: string;
  hint?: string;
  placeholder?: string;
  isRequired?: boolean;
  maxLength?: number;
  type?: 'text' | 'number' | 'decimal' | 'password';
  /** Stands behind the field, such as a currency. */
  unit?: string;
  suggestions?: readonly string[];
  /** Id of a list of suggestions that several fields of the page share: see {@link suggestionList}. */
  list?: string;
}

export function textField(field: TextField): Html {
  const { name, label, id = name, value = '', hint, placeholder, isRequired = false, maxLength = 200 } = field;
  const { type = 'text', unit, suggestions = [] } = field;
  const suggested = field.list ?? (suggestions.length > 0 ? `${id}-list` : undefined);
  const list = suggested !== undefined && html` list="${suggested}"`;
  const mode =
    type === 'number' ? html` min="0" step="1" inputmode="numeric"` : type === 'decimal' && html` inputmode="decimal"`;
  const input = html`<input class="input" id="${id}" name="${name}" type="${type === 'decimal' ? 'text' : type}" value="${value}" maxlength="${maxLength}" autocomplete="off" spellcheck="false"${isRequired && html` required`}${placeholder !== undefined && html` placeholder="${placeholder}"`}${hint !== undefined && html` aria-describedby="${id}-hint"`}${mode}${list}>`;
  return html`<div class="field"><label for="${id}">${label}</label>${unit === undefined ? input : html`<span class="with-unit">${input}<span class="muted">${unit}</span></span>`}${suggestions.length > 0 && html`<datalist id="${id}-list">${suggestions.map((text) => html`<option value="${text}">`)}</datalist>`}${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}</div>
`;
}

/** Values with what each of them is, for fields with this `list`. */
export function suggestionList(id: string, choices: readonly { value: string; label: string }[]): Html {
  return html`<datalist id="${id}">${choices.map(({ value, label }) => html`<option value="${value}">${label}</option>`)}</datalist>`;
}

export interface ChoiceField {
  name: string;
  label: string;
  /** Unique in the page. Default: the name. */
  id?: string;
  value?: string;
  choices: readonly { value: string; label: string }[];
  hint?: string;
}

export function choiceField({ name, label, id = name, value, choices, hint }: ChoiceField): Html {
  return html`<div class="field"><label for="${id}">${label}</label>${select({ id, name, value, choices, hint })}${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}</div>
`;
}

function select({ id, name, value, choices, hint }: Omit<ChoiceField, 'label'>): Html {
  return html`<select class="input" id="${id}" name="${name}"${hint !== undefined && html` aria-describedby="${id}-hint"`}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === value && html` selected`}>${choice.label}</option>`,
  )}</select>`;
}

export interface PresetField {
  name: string;
  label: string;
  value: string;
  /** What is usual; the first one is what an empty field means. */
  presets: readonly { value: string; label: string }[];
  /** Fields for another value, shown once that is chosen. They have names of their own: see {@link chosen}. */
  other: Html;
  hint?: string;
}

const OTHER = 'other';

/** Usual values beside each other, and another one. */
export function presetField({ name, label, value, presets, other, hint }: PresetField, { texts }: Locale): Html {
  const isUsual = presets.some((preset) => preset.value === value);
  const radio = (of: string, words: string, isChecked: boolean) =>
    html`<label class="preset"><input type="radio" name="${name}" value="${of}"${isChecked && html` checked`}><span>${words}</span></label>`;
  return html`<fieldset class="field presets"><legend>${label}</legend><div class="preset-row">${presets.map((preset) => radio(preset.value, preset.label, preset.value === value))}${radio(OTHER, texts.console.otherValue, !isUsual)}</div>
<div class="preset-other">${other}</div>${hint !== undefined && html`<span class="hint">${hint}</span>`}</fieldset>
`;
}

type Fields = (name: string) => string;

/** The value of a {@link presetField} with one field for another value, `<name>_other`. */
export function chosen(field: Fields, name: string): string {
  return field(name) === OTHER ? field(`${name}_other`) : field(name);
}

export interface LastDayField {
  name: string;
  label: string;
  /** `2026-06-15`; empty for none. */
  value: string;
  /** What none means. */
  never: string;
  now: number;
}

/** A last day: none, one of the usual spans from now, or a day. */
export function lastDayField({ name, label, value, never, now }: LastDayField, locale: Locale): Html {
  const dayIn = (days: number) => new Date(now + days * DAY_MS).toISOString().slice(0, 10);
  const presets = [
    { value: '', label: never },
    ...[7, 30, 90, 365].map((days) => ({ value: dayIn(days), label: locale.texts.words.days(days) })),
  ];
  const isUsual = presets.some((preset) => preset.value === value);
  const input = {
    id: `${name}-other`,
    name: `${name}_other`,
    value: isUsual ? '' : value,
    example: dayIn(30),
    min: dayIn(0),
  };
  return presetField({ name, label, value, presets, other: dayField(label, input, locale) }, locale);
}

const PERIODS = ['month', 'day', 'lifetime'] as const;
const MONEY = [10, 50, 100, 500];
/** A form has so many lines, and one more than there are budgets. */
const LINES = 2;
const MAX_LINES = 6;

export interface BudgetField {
  /** Unique in the page. */
  id: string;
  label: string;
  /** As {@link budgetText} writes them. */
  value: readonly string[];
  /** Of the prices. Undefined without prices: there are no budgets of money. */
  currency: string | undefined;
}

/** Budgets: none, a usual one, or lines with amount, unit and period, of which empty ones are left out. */
export function budgetField({ id, label, value, currency }: BudgetField, locale: Locale): Html {
  const { console: own, keys } = locale.texts;
  const t = keys.form;
  const usual = currency === undefined ? [] : MONEY.map((amount) => `${amount} ${currency}/month`);
  const presets = [
    { value: '', label: own.noBudget },
    ...usual.map((text, index) => ({
      value: text,
      label: locale.smallMoney((MONEY[index] ?? 0) * MICROS, currency ?? 'XXX', 0, 0),
    })),
  ];
  const units = [
    ...(currency === undefined ? [] : [{ value: currency, label: currency }]),
    { value: 'tokens', label: t.units.tokens },
    { value: 'requests', label: t.units.requests },
  ];
  const periods = PERIODS.map((of) => ({ value: of, label: t.periods[of === 'lifetime' ? 'never' : of] }));
  const whole = value.join(', ');
  const isUsual = presets.some((preset) => preset.value === whole);
  const lines = Array.from({ length: Math.min(MAX_LINES, Math.max(LINES, value.length + 1)) }, (_, index) => {
    const [, amount, unit, period] = LINE.exec(isUsual ? '' : (value[index] ?? '')) ?? [];
    const line = `${id}-${index}`;
    const name = `budget_${index}`;
    const known = units.some((one) => one.value === unit) || unit === undefined;
    const choices = known ? units : [...units, { value: unit, label: unit }];
    return html`<div class="budget-line"><div class="field"><label class="visually-hidden" for="${line}">${t.amount}</label><input class="input" id="${line}" name="${name}_amount" inputmode="decimal" maxlength="40" placeholder="${t.amount}" autocomplete="off" value="${amount ?? (isUsual ? '' : (value[index] ?? ''))}"></div>
<div class="field"><label class="visually-hidden" for="${line}-unit">${t.unit}</label>${select({ id: `${line}-unit`, name: `${name}_unit`, value: unit ?? units[0]?.value ?? '', choices })}</div>
<div class="field"><label class="visually-hidden" for="${line}-period">${t.period}</label>${select({ id: `${line}-period`, name: `${name}_period`, value: period ?? 'month', choices: periods })}</div></div>
`;
  });
  // The usual ones are for a month.
  const title = usual.length > 0 ? own.monthly(label) : label;
  return presetField({ name: 'budgets', label: title, value: whole, presets, other: html`${lines}` }, locale);
}

const LINE = /^(\S+) (\w+)\/(month|day|lifetime)$/;

/** The fields of a {@link budgetField}, for the declaration of a form. */
export const BUDGETS_FORM: Readonly<Record<string, string>> = {
  budgets: 'Budgets, separated by commas; empty: none; `other`: those of the lines.',
  budget_: 'Followed by the number of a line and `_amount`, `_unit` or `_period`.',
};

/** The budgets of a {@link budgetField}. */
export function readBudgets(field: Fields): string[] {
  if (field('budgets') !== OTHER) return listOf(field('budgets'));
  return Array.from({ length: MAX_LINES }, (_, index) => {
    const part = (of: string) => field(`budget_${index}_${of}`);
    return part('amount') === '' ? '' : `${part('amount')} ${part('unit')}/${part('period')}`;
  }).filter((text) => text !== '');
}

/** As budgets are written: `50 USD/month`. */
export function budgetText({ requestLimit, tokenLimit, costLimit, currency, resets }: BudgetState): string {
  const period = resets === 'never' ? 'lifetime' : resets;
  if (costLimit !== null) return `${costLimit / MICROS} ${currency}/${period}`;
  return tokenLimit !== null ? `${tokenLimit} tokens/${period}` : `${requestLimit} requests/${period}`;
}

/** The parts of a field that has several, separated by commas. */
function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
