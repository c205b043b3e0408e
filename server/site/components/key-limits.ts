/*
 * The fields of a key's limits, for making and for changing one. They offer what the plan has, so that a browser
 * refuses most of what the plan does not allow before anything is sent. Many models are folded, and ticked or not with one
 * press. Everything ticked and an empty field mean as the plan. Budgets have one line each; an empty one is left out. What a
 * key may use and how much of it stand beside each other.
 */

import { type BudgetState, MICROS } from '../../budgets/index.js';
import { dayOf, minorDigits } from '../../format/index.js';
import type { ApiKeyRecord, KeyGrant } from '../../keys/index.js';
import type { Locale } from '../language/index.js';
import { type Html, html } from '../page.js';
import { dayField } from './day-input.js';

/** What a key may be limited to. */
export interface LimitChoices {
  grants: readonly KeyGrant[];
  models: readonly string[];
  /** Requests a minute of the plan; null is unlimited. */
  rpm: number | null;
  /** End of the plan, after which no other one follows; null is never. */
  planEnd: number | null;
  /** Of the prices (ISO 4217). Default: there are none, and no budget of money. */
  currency?: string | undefined;
  /** `2026-06-15` (UTC). */
  today: string;
}

/** The limits of a key before a change. */
export type LimitedKey = Pick<ApiKeyRecord, 'own'> & { id: string; budgets: readonly BudgetState[] };

const MAX_BUDGETS = 3;
const DAY_MS = 86_400_000;

/** @param key Default: a new one, without limits. */
export function limitFields(choices: LimitChoices, locale: Locale, key?: LimitedKey): Html {
  const { texts, count, day } = locale;
  const { form: t } = texts.keys;
  const { grants, models, rpm, planEnd, today } = choices;
  const own = key?.own;
  const id = key?.id ?? 'new';
  const hasModels = models.length > 1;
  const lastDay = planEnd === null ? undefined : lastWholeDay(planEnd);
  const ends = own?.expiresAt === undefined ? '' : earlierOf(lastWholeDay(own.expiresAt + 1), lastDay);
  return html`<div class="key-limits"><div class="stack">
${checks({ name: 'grants', legend: t.grants, choices: grants.map((grant) => ({ value: grant, label: texts.keys.grants[grant] })), chosen: own?.grants, hint: hasModels ? undefined : t.allHint })}
${hasModels && checks({ name: 'models', legend: t.models, choices: models.map((model) => ({ value: model, label: model })), chosen: own?.models, hint: t.allHint, ticks: t })}
</div><div class="stack">
<div class="options">
<div class="field"><label for="rpm-${id}">${t.rpm}</label>
<input class="input" id="rpm-${id}" name="rpm" type="number" inputmode="numeric" min="1" step="1"${rpm !== null && html` max="${rpm}" placeholder="${count(rpm)}"`} value="${own?.rpm === undefined ? '' : Math.min(own.rpm, rpm ?? own.rpm)}" aria-describedby="rpm-hint-${id}">
<span class="hint" id="rpm-hint-${id}">${rpm === null ? t.rpmUnlimited : t.rpmHint(count(rpm))}</span></div>
${dayField(
  t.expires,
  {
    id: `expires-${id}`,
    name: 'expiresAt',
    value: ends,
    example: lastDay ?? today,
    placeholder: planEnd === null ? texts.keys.facts.never : undefined,
    min: today,
    max: lastDay,
    describedBy: `expires-hint-${id}`,
  },
  locale,
  html`<span class="hint" id="expires-hint-${id}">${t.expiresHint}${planEnd !== null && html` ${t.expiresBy(day(planEnd))}`}</span>`,
)}
</div>
<fieldset class="field" aria-describedby="budgets-hint-${id}"><legend>${t.budget}</legend>
${budgetLines(choices, locale, { id, budgets: key?.budgets ?? [] })}
${budgetPresets(choices, locale)}
<span class="hint" id="budgets-hint-${id}">${t.budgetHint}</span></fieldset>
</div></div>`;
}

interface ChecksView {
  name: string;
  legend: string;
  choices: readonly { value: string; label: string }[];
  /** Default: all. */
  chosen: readonly string[] | undefined;
  /** Default: none. */
  hint: string | undefined;
  /** Many are folded below `some`, with buttons that tick all or none. Default: they are shown at once. */
  ticks?: { all: string; none: string; some: string };
}

/** So many are ticked one by one. */
const MANY_CHECKS = 6;

function checks({ name, legend, choices, chosen, hint, ticks }: ChecksView): Html {
  const isLong = choices.length > MANY_CHECKS;
  const boxes = html`<div class="checks">${choices.map(
    ({ value, label }) =>
      html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${(chosen?.includes(value) ?? true) && html` checked`}> <span>${label}</span></label>`,
  )}</div>`;
  return html`<fieldset class="field"><legend>${isLong ? `${legend} (${choices.length})` : legend}</legend>
${isLong && ticks ? html`<details${chosen && html` open`}><summary>${ticks.some}</summary><div class="row needs-script">${tickButton('all', ticks.all)}${tickButton('none', ticks.none)}</div>${boxes}</details>` : boxes}
${hint !== undefined && html`<span class="hint">${hint}</span>`}</fieldset>`;
}

function tickButton(which: 'all' | 'none', label: string): Html {
  return html`<button type="button" class="link-button" data-tick="${which}">${label}</button>`;
}

/** The last day that is over by then: `2026-06-14` for any time of 15 June. */
function lastWholeDay(at: number): string {
  return dayOf(at - DAY_MS);
}

function earlierOf(day: string, other: string | undefined): string {
  return other !== undefined && other < day ? other : day;
}

type BudgetOwn = Pick<LimitedKey, 'id' | 'budgets'>;

/** A line for each budget of the key, and an empty one. */
function budgetLines(choices: LimitChoices, locale: Locale, { id, budgets }: BudgetOwn): Html[] {
  const own = budgets.filter(({ scope }) => scope === 'key').slice(0, MAX_BUDGETS);
  const lines = own.length < MAX_BUDGETS ? [...own, undefined] : own;
  return lines.map((budget, index) => budgetLine(choices, locale, { id: `${id}-${index}`, budget }));
}

/** So much of the smallest common amount. */
const PRESETS = [1, 2, 5, 10] as const;

/** Buttons that fill the first line that is empty, or else the first one. Those of the unit that is chosen are shown. */
function budgetPresets({ currency }: LimitChoices, { texts, shortCount, smallMoney }: Locale): Html {
  const t = texts.keys.form;
  // In a currency without small coins the amounts are larger.
  const least = currency === undefined ? 0 : minorDigits(currency) === 0 ? 100_000 : 10;
  const units = [
    ...(currency === undefined
      ? []
      : [[currency, least, (amount: number) => smallMoney(amount * MICROS, currency, 0)] as const]),
    ['requests', 1_000, (amount: number) => `${shortCount(amount)} ${t.units.requests}`] as const,
    ['tokens', 1_000_000, (amount: number) => `${shortCount(amount)} ${t.units.tokens}`] as const,
  ];
  const buttons = units.flatMap(([unit, smallest, label], at) =>
    PRESETS.map((times) => {
      const amount = smallest * times;
      return html`<button type="button" class="preset" data-preset="${amount}" data-unit="${unit}"${at > 0 && html` hidden`}>${label(amount)}</button>`;
    }),
  );
  return html`<div class="row needs-script" role="group" aria-label="${t.presets}">${buttons}</div>`;
}

function budgetLine(
  { currency }: LimitChoices,
  { texts }: Locale,
  { id, budget }: { id: string; budget: BudgetState | undefined },
): Html {
  const t = texts.keys.form;
  const { unit, amount, resets } = budget
    ? amountOf(budget)
    : { unit: currency ?? 'requests', amount: '', resets: 'month' };
  const units = [
    ...(currency === undefined ? [] : [[currency, currency] as const]),
    ['requests', t.units.requests],
    ['tokens', t.units.tokens],
  ] as const;
  return html`<div class="budget-line" data-budget>
<div class="field"><label class="visually-hidden" for="amount-${id}">${t.amount}</label><input class="input" id="amount-${id}" data-param="budgets" data-part="amount" inputmode="decimal" pattern="[0-9]{1,13}([.][0-9]{1,6})?" placeholder="${t.amount}" value="${amount}" autocomplete="off"></div>
<div class="field"><label class="visually-hidden" for="unit-${id}">${t.unit}</label><select class="input" id="unit-${id}" data-part="unit">${units.map(([value, label]) => option(value, label, value === unit))}</select></div>
<div class="field"><label class="visually-hidden" for="period-${id}">${t.period}</label><select class="input" id="period-${id}" data-part="period">${PERIODS.map(([value, name]) => option(value, t.periods[name], name === resets))}</select></div>
</div>`;
}

/** As amounts of budgets are written: `1000 requests/day`. */
const PERIODS = [
  ['month', 'month'],
  ['day', 'day'],
  ['lifetime', 'never'],
] as const;

function amountOf(budget: BudgetState): { unit: string; amount: number | ''; resets: string } {
  const { requestLimit, tokenLimit, costLimit, currency, resets } = budget;
  if (costLimit !== null) return { unit: currency ?? '', amount: costLimit / MICROS, resets };
  if (tokenLimit !== null) return { unit: 'tokens', amount: tokenLimit, resets };
  return { unit: 'requests', amount: requestLimit ?? '', resets };
}

function option(value: string, label: string, isSelected: boolean): Html {
  return html`<option value="${value}"${isSelected && html` selected`}>${label}</option>`;
}
