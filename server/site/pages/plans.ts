import type { Support } from '../../plans/index.js';
import { type Html, html } from '../html.js';
import type { Page } from '../page.js';
import { scriptedButton, supportWords } from '../pieces.js';
import type { PlanView } from '../plan-view.js';

export interface PlansView {
  plans: readonly PlanView[];
  isSignedIn: boolean;
  support: Support;
  /** Of whoever is signed in. */
  currentPlanId?: string;
}

export function plansPage({ plans, support, isSignedIn, currentPlanId }: PlansView): Omit<Page, 'viewer'> {
  return {
    title: 'Plans',
    description: 'What the plans hold, and how they are paid.',
    current: '/plans',
    scripts: ['api-forms.js'],
    content: html`<div class="frame">
<div class="page-head"><h1>Plans</h1><p>Input and output tokens count together. What you buy starts at once for all your keys. The plan you have
is extended; what is left of another plan with an end becomes days of the new one, by price per day.</p></div>
<h2 class="visually-hidden">What the plans hold</h2>
${renderPlanCards(plans, isSignedIn, currentPlanId)}
${renderPaying(plans, support)}
</div>`,
  };
}

function renderPaying(plans: readonly PlanView[], support: Support): Html {
  const isSold = plans.some(({ canBeOrdered }) => canBeOrdered);
  return html`<section class="section faq" aria-labelledby="paying">
<h2 id="paying">${isSold ? 'How paying works' : 'How to get a plan'}</h2>
<dl>
${
  isSold &&
  html`<div><dt>By bank transfer</dt><dd>You get a QR code for your banking app, with amount, account and reference filled in.</dd></div>
<div><dt>Matched by its code</dt><dd>Each order has its own code. Once the transfer is booked, your plan starts automatically.</dd></div>`
}
<div id="support"><dt>${isSold ? 'Other ways to pay, other terms' : 'Support'}</dt><dd>${supportWords(support)}</dd></div>
</dl>
</section>`;
}

export function renderPlanCards(plans: readonly PlanView[], isSignedIn: boolean, currentPlanId?: string): Html {
  return html`<ul class="plans">${plans.map(
    (plan) => html`<li class="card plan">
<h3>${plan.name}${plan.id === currentPlanId && html` <span class="badge badge-good">Yours</span>`}</h3>
<p class="plan-price figures">${plan.price ?? 'On request'}</p>
<ul class="plan-points">${plan.points.map((point) => html`<li>${point}</li>`)}</ul>
${plan.note !== null && html`<p class="small muted">${plan.note}</p>`}
${plan.outcome && html`<p class="small muted plan-outcome">${plan.outcome}</p>`}
${renderAction(plan, isSignedIn)}
</li>`,
  )}</ul>`;
}

function renderAction({ id, name, isFree, canBeOrdered }: PlanView, isSignedIn: boolean): Html {
  const title = html`<span class="visually-hidden"> ${name}</span>`;
  if (isFree)
    return html`<a class="button button-quiet" href="${isSignedIn ? '/dashboard' : '/login'}">Start${title}</a>`;
  if (!canBeOrdered) return html`<a class="button button-quiet" href="/plans#support">Ask support${title}</a>`;
  if (!isSignedIn) return html`<a class="button button-quiet" href="/login?return_to=/plans">Choose${title}</a>`;
  return html`<form class="plan-form" data-api="POST /api/agent/payment" data-then="/pay/{payment.code}" data-problem="problem-${id}">
<input type="hidden" name="planId" value="${id}">
<p class="problem" role="alert" id="problem-${id}"></p>
${scriptedButton(html`Choose${title}`)}
<p class="needs-no-script small muted">Choosing a plan needs scripts, or the API.</p>
</form>`;
}
