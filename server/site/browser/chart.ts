/*
 * Charts by keyboard: a chart is a slider over its spans, so that arrow keys show one value after the other, as a pointer
 * does, and screen readers say them. Without this script the values are in the table of the page.
 */

for (const plot of document.querySelectorAll<HTMLElement>('.chart-plot')) startChart(plot);

function startChart(plot: HTMLElement): void {
  const values = [...plot.querySelectorAll('li')];
  let at = values.length - 1;

  function show(index: number): void {
    at = Math.min(values.length - 1, Math.max(0, index));
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
  plot.addEventListener('keydown', (event) => {
    const steps: Readonly<Record<string, number>> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: Infinity };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  });
}
