/*
 * What the operator of a fresh gateway can do next, on their dashboard: a list with a guide for each step. Steps that are
 * done are named below it, and the list is gone when all are. A step that does not apply to the gateway is left out. Once
 * the account is in use, the list is a line with the number of steps that are left.
 */

import type { Locale } from '../language/index.js';
import { badge, type Html, html } from '../page.js';

/** Whether each step is done. */
export interface NextSteps {
  model: boolean;
  prices: boolean;
  people: boolean;
  /** Undefined without a platform to read links of. */
  links: boolean | undefined;
  payments: boolean;
}

const GUIDES: readonly (readonly [step: keyof NextSteps, guide: string])[] = [
  ['model', '/docs/operate/connect-models'],
  ['prices', '/docs/operate/costs'],
  ['people', '/docs/accounts/sign-in'],
  ['links', '/docs/accounts/plans'],
  ['payments', '/docs/accounts/payments'],
];

/** @param isFolded Whether other things come first. */
export function renderNextSteps(
  steps: NextSteps,
  { texts: { nextSteps: t } }: Locale,
  isFolded: boolean,
): Html | false {
  if (Object.values(steps).every((isDone) => isDone !== false)) return false;
  const open = GUIDES.filter(([step]) => steps[step] === false);
  const done = GUIDES.filter(([step]) => steps[step]);
  const title = html`<h2 id="next-steps">${t.title}</h2>`;
  const content = html`<p class="small muted">${t.lead}</p>
<ul class="rows rows-tight">${open.map(([step, guide], index) => {
    const { title, words } = t.steps[step];
    const link = html`<a class="button button-small${(isFolded || index > 0) && ' button-quiet'}" href="${guide}">${t.open}<span class="visually-hidden">: ${title}</span></a>`;
    return html`<li><div><strong>${title}</strong><span class="small muted">${words}</span></div><div class="rows-end">${link}</div></li>`;
  })}</ul>
${done.length > 0 && html`<div class="row"><span class="small muted">${t.done}</span><ul class="chips">${done.map(([step]) => html`<li>${badge(t.steps[step].title, 'good')}</li>`)}</ul></div>`}`;
  return isFolded
    ? html`<section class="card" aria-labelledby="next-steps"><details class="card-fold"><summary>${title}${badge(t.left(open.length), 'warn')}</summary><div class="stack">${content}</div></details></section>`
    : html`<section class="card stack" aria-labelledby="next-steps">${title}${content}</section>`;
}
