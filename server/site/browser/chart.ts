/*
 * Charts by keyboard: a chart is a slider over its spans, so that arrow keys show one value after the other, as a pointer
 * does, and screen readers say them. The value of a divided span gets its parts, with the names and colours of the legend
 * of the page. Without this script the values are in the table of the page.
 */

import { element } from './elements.js';

const names = [...document.querySelectorAll('.chart-legend li')].map((name) => name.textContent ?? '');

for (const plot of document.querySelectorAll<HTMLElement>('.chart-plot')) startChart(plot);

function startChart(plot: HTMLElement): void {
  const values = [...plot.querySelectorAll('li')];
  let at = values.length - 1;

  function show(index: number): void {
    at = Math.min(values.length - 1, Math.max(0, index));
    addParts(values[at]);
    for (const [each, value] of values.entries()) value.toggleAttribute('data-shown', each === at);
    plot.setAttribute('aria-valuenow', String(at));
    plot.setAttribute('aria-valuetext', values[at]?.textContent ?? '');
  }

  function hide(): void {
    for (const value of values) value.removeAttribute('data-shown');
  }

  plot.tabIndex = 0;
  const words = plot.querySelector('svg')?.getAttribute('aria-label') ?? '';
  const attributes = { role: 'slider', 'aria-label': words, 'aria-valuemin': '0', 'aria-valuemax': String(at) };
  for (const [name, value] of Object.entries(attributes)) plot.setAttribute(name, value);
  show(at);
  hide();
  plot.addEventListener('focus', () => show(at));
  plot.addEventListener('blur', hide);
  plot.addEventListener('pointerover', ({ target }) => {
    if (target instanceof HTMLElement) addParts(target.closest('li') ?? undefined);
  });
  plot.addEventListener('keydown', (event) => {
    const steps: Readonly<Record<string, number>> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: Infinity };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  });
}

/** Once: what was added is not added again. */
function addParts(value: HTMLElement | undefined): void {
  const parts = value?.dataset.parts?.split('|') ?? [];
  delete value?.dataset.parts;
  for (const [index, part] of parts.entries()) {
    if (part === '') continue;
    const mark = element('span', { class: `swatch chart-part-${index}` });
    const name = element('bdi', {}, names[index] ?? '');
    value?.firstElementChild?.append(', ', element('span', { class: 'chart-part' }, mark, name, ` ${part}`));
  }
}
