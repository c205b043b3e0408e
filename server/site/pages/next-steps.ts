/*
 * What can be done next, on the dashboard. An account that has done nothing yet has a first request and, for
 * an operator, the steps of a fresh gateway before it, each with its guide. The first step alone has the button that stands
 * out. Steps that are done follow in a line with a tick. Once the account is in use, what is left of the gateway is a line with the
 * number of steps, and gone when all are done. A step that does not apply to the gateway is left out.
 */

import type { Locale } from '../language/index.js';
import { badge, bar, type Html, html } from '../page.js';

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

/** What the gateway still lacks, folded: other things come first. */
export function renderNextSteps(steps: NextSteps, locale: Locale): Html | false {
  const { nextSteps: t } = locale.texts;
  const { open, done } = sorted(steps);
  if (open.length === 0) return false;
  return html`<section class="card" aria-labelledby="next-steps"><details class="card-fold"><summary><h2 id="next-steps">${t.title}</h2>${badge(t.left(open.length), 'warn')}</summary><div class="stack"><p class="small muted">${t.lead}</p>
<ul class="rows rows-tight steps">${open.map(([step, guide]) => stepRow({ ...t.steps[step], href: guide }))}${doneSteps(done, locale)}</ul></div></details></section>`;
}

function sorted(steps: NextSteps) {
  return {
    open: GUIDES.filter(([step]) => steps[step] === false),
    done: GUIDES.filter(([step]) => steps[step]),
  };
}

/** One line for all of them: what is left comes first. */
function doneSteps(done: typeof GUIDES, { texts: { nextSteps: t } }: Locale): Html | false {
  const titles = done.map(([step]) => t.steps[step].title);
  return (
    done.length > 0 &&
    html`<li class="step-done"><div><span>${titles.join(' · ')}</span></div><span class="small muted">${t.done}</span></li>`
  );
}

interface Step {
  title: string;
  words: string;
  href: string;
  /** The words of its button. */
  open: string;
}

function stepRow({ title, words, href, open }: Step, isFirst = false): Html {
  return html`<li><div><strong>${title}</strong><span class="small muted">${words}</span></div><div class="rows-end"><a class="button button-small${!isFirst && ' button-quiet'}" href="${href}">${open}<span class="visually-hidden">: ${title}</span></a></div></li>`;
}

/**
 * Everything that an account which has done nothing yet can do.
 *
 * @param keyForm Makes a key.
 */
export function renderFirstRun(
  { steps, keyForm }: { steps: NextSteps | undefined; keyForm: Html },
  locale: Locale,
): Html {
  const { nextSteps: t, dashboard } = locale.texts;
  const { title, request, steps: own } = dashboard.first;
  const { open, done } = steps ? sorted(steps) : { open: [], done: [] };
  const isSetUp = open.length === 0;
  const first = html`<ol class="rows rows-tight steps">${stepRow({ ...own.play, href: '/playground' }, isSetUp)}
<li class="step-form" id="keys"><div><strong>${own.key.title}</strong><span class="small muted">${own.key.words}</span></div>${keyForm}</li>
${stepRow({ ...own.client, href: '/setup' })}</ol>`;
  if (!steps || isSetUp) {
    return html`<section class="card stack" aria-labelledby="first"><h2 id="first">${title}</h2>${first}</section>`;
  }
  return html`<section class="card stack" aria-labelledby="next-steps"><div class="stack-small"><div class="row row-apart"><h2 id="next-steps">${t.title}</h2><span class="small muted">${t.progress(done.length, done.length + open.length)}</span></div>
${bar(open.length / (done.length + open.length), true)}<p class="small muted">${t.lead}</p></div>
<ol class="rows rows-tight steps">${open.map(([step, guide], index) => stepRow({ ...t.steps[step], href: guide }, index === 0))}${doneSteps(done, locale)}</ol></section>
<section class="card stack" aria-labelledby="first"><h2 id="first">${request}</h2>${first}</section>`;
}
