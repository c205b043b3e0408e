/*
 * Chooses the model that the address of the playground names, `?model=`, and opens its tab. A model that the playground
 * does not offer changes nothing.
 */

const wanted = new URLSearchParams(location.search).get('model');
const form = wanted === null ? undefined : choose(wanted);
const panel = form?.closest('[role="tabpanel"]');
if (panel && location.hash === '') location.hash = panel.id;
form?.scrollIntoView({ block: 'nearest' });

/** Chooses it in each form that offers it. @returns The first one. */
function choose(model: string): HTMLFormElement | undefined {
  const selects = [...document.querySelectorAll<HTMLSelectElement>('select[name="model"]')];
  const offering = selects.filter(({ options }) => [...options].some(({ value }) => value === model));
  for (const select of offering) {
    select.value = model;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }
  return offering[0]?.form ?? undefined;
}
