/*
 * Forms of the limits of a key. What was not touched is not sent, so that a form changes nothing else. Everything ticked
 * and empty fields are sent as null, which means as the plan; a day is sent as its end by UTC; each line of a budget
 * becomes an amount such as `1000 requests/day`. Buttons tick all boxes of a list, or
 * none, and fill in a common budget, of which there are some for each unit. A sentence beside the button says what the key may use then.
 */

import { readTypedDay } from '../language/typed-day.js';
import { startApiForm } from './api-forms.js';
import { FieldProblem } from './elements.js';
import { fill, textsOf } from './texts.js';

const t = textsOf('keys');

/** The name, and what was changed. @throws FieldProblem if nothing is ticked. */
function bodyOf(form: HTMLFormElement): Record<string, unknown> {
  return {
    name: inputOf(form, 'name')?.value.trim(),
    ...ticked(form, 'grants', t.chooseGrant),
    ...ticked(form, 'models', t.chooseModel),
    ...changed(inputOf(form, 'rpm'), Number),
    ...changed(inputOf(form, 'expiresAt'), (day) => `${readTypedDay(day) ?? day}T23:59:59.999Z`),
    ...budgetsIn(form),
  };
}

function inputOf(form: HTMLFormElement, name: string): HTMLInputElement | undefined {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement ? field : undefined;
}

function changed(field: HTMLInputElement | undefined, read: (text: string) => unknown): Record<string, unknown> {
  if (!field || field.value === field.defaultValue) return {};
  return { [field.name]: field.value === '' ? null : read(field.value) };
}

function ticked(form: HTMLFormElement, name: string, problem: string): Record<string, readonly string[] | null> {
  const boxes = [...form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`)];
  if (boxes.every(({ checked, defaultChecked }) => checked === defaultChecked)) return {};
  const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value);
  if (chosen.length === 0) throw new FieldProblem(problem, name);
  return { [name]: chosen.length === boxes.length ? null : chosen };
}

function budgetsIn(form: HTMLFormElement): { budgets?: readonly string[] } {
  const lines = [...form.querySelectorAll<HTMLElement>('[data-budget]')];
  const parts = lines.flatMap((line) => [...line.querySelectorAll<HTMLInputElement | HTMLSelectElement>('.input')]);
  return parts.some(isChanged) ? { budgets: lines.flatMap(budgetIn) } : {};
}

function isChanged(field: HTMLInputElement | HTMLSelectElement): boolean {
  if (field instanceof HTMLInputElement) return field.value !== field.defaultValue;
  return [...field.options].some(({ selected, defaultSelected }) => selected !== defaultSelected);
}

function budgetIn(line: HTMLElement): string[] {
  const part = (name: string) =>
    line.querySelector<HTMLInputElement | HTMLSelectElement>(`[data-part="${name}"]`)?.value.trim() ?? '';
  return part('amount') === '' ? [] : [`${part('amount')} ${part('unit')}/${part('period')}`];
}

/** The form of a menu's entry, which closes with its own button. */
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-open]')) {
  button.addEventListener('click', () => {
    const part = document.getElementById(button.dataset.open ?? '');
    if (!(part instanceof HTMLDetailsElement)) return;
    part.open = true;
    part.querySelector('summary')?.focus();
  });
}

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-tick]')) {
  button.addEventListener('click', () => {
    const boxes = button.closest('fieldset')?.querySelectorAll<HTMLInputElement>('input[type="checkbox"]') ?? [];
    for (const box of boxes) box.checked = button.dataset.tick === 'all';
  });
}

for (const unit of document.querySelectorAll<HTMLSelectElement>('[data-part="unit"]')) {
  unit.addEventListener('change', () => {
    const presets = unit.closest('fieldset')?.querySelectorAll<HTMLElement>('[data-preset]') ?? [];
    for (const preset of presets) preset.hidden = preset.dataset.unit !== unit.value;
  });
}

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-preset]')) {
  button.addEventListener('click', () => {
    const lines = [...(button.closest('fieldset')?.querySelectorAll<HTMLElement>('[data-budget]') ?? [])];
    const part = (line: HTMLElement, name: string) =>
      line.querySelector<HTMLInputElement | HTMLSelectElement>(`[data-part="${name}"]`);
    const line = lines.find((one) => part(one, 'amount')?.value === '') ?? lines[0];
    if (!line) return;
    const { preset = '', unit = '' } = button.dataset;
    for (const [name, value] of Object.entries({ amount: preset, unit, period: 'month' })) {
      const field = part(line, name);
      if (field) field.value = value;
    }
    part(line, 'amount')?.focus();
  });
}

/** What a key with the values of the form may use, in a sentence. */
function summaryOf(form: HTMLFormElement): string {
  const boxes = (name: string) => [...form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`)];
  const [grants, models] = [boxes('grants'), boxes('models')];
  const isChecked = ({ checked }: HTMLInputElement) => checked;
  const label = (box: HTMLInputElement) => box.closest('label')?.textContent?.trim() ?? '';
  const [rpm, day] = [inputOf(form, 'rpm')?.value ?? '', inputOf(form, 'expiresAt')?.value ?? ''];
  const budgets = [...form.querySelectorAll<HTMLElement>('[data-budget]')].flatMap((line) => {
    const [amount, ...units] = [...line.querySelectorAll<HTMLInputElement | HTMLSelectElement>('.input')].map(
      (field) =>
        field instanceof HTMLSelectElement ? (field.selectedOptions[0]?.textContent ?? '') : field.value.trim(),
    );
    return amount === '' || amount === undefined ? [] : fill(t.upTo, { budget: [amount, ...units].join(' ') });
  });
  const { length } = models.filter(isChecked);
  const limits = [
    grants.every(isChecked) ? t.everything : grants.filter(isChecked).map(label).join(', '),
    length < models.length && fill(t.someModels, { count: String(length), all: String(models.length) }),
    rpm !== '' && fill(t.aMinute, { count: rpm }),
    day !== '' && fill(t.until, { day }),
    ...budgets,
  ];
  return fill(t.mayUse, { limits: limits.filter(Boolean).join(', ') });
}

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-limits]')) {
  startApiForm(form, bodyOf);
  const summary = form.querySelector('[data-summary]');
  const update = () => {
    if (summary) summary.textContent = summaryOf(form);
  };
  // Buttons that fill in fields are clicked; what they do is done by then.
  for (const event of ['input', 'click']) form.addEventListener(event, update);
  update();
}
