/*
 * The pages of the plans and of one order. The plans page says what a paid plan would do to the current one. An open
 * order shows the QR code, the bank account, the amount and the time left; it can be cancelled only before a payment.
 * Closed orders say how they ended; one that needs a review also names the support. A script loads the page again when
 * the state changes.
 */

import { isOpen, type OrderRecord, type OrderState, type PaymentTransfer, paymentPath } from '../../payments/index.js';
import type { Support } from '../../plans/index.js';
import type { Locale } from '../language/index.js';
import { copyButton, type Html, html, type Page, scriptedButton, supportWords } from '../page.js';
import { minute, money, orderBadge, orderWords, type PlanView, timeLeft } from '../views.js';

export interface PlansView {
  plans: readonly PlanView[];
  isSignedIn: boolean;
  support: Support;
  /** Of the signed-in user. */
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

export interface PaymentView {
  order: OrderRecord;
  planName: string;
  /** Undefined if nothing is to be paid, or payments are disabled. */
  transfer: PaymentTransfer | undefined;
  support: Support;
  /** The plan if it is paid now. */
  outcome?: Html;
  /** Milliseconds since 1970. */
  now: number;
}

export function paymentPage(view: PaymentView, locale: Locale): Omit<Page, 'viewer'> {
  const { order, planName, transfer, support } = view;
  return {
    // Title of a background tab after the payment has arrived.
    title: `${orderWords(order.state)}: order ${order.code}`,
    scripts: ['payment.js', 'api-forms.js'],
    content: html`<div class="frame frame-text" data-payment="${order.code}" data-state="${order.state} ${order.paidAmount}">
<div class="page-head"><div class="row"><h1>${planName}</h1>${orderBadge(order.state)}</div>
<p>Order <code id="code">${order.code}</code> of ${minute(order.createdAt)}</p></div>
${transfer ? renderOpen(view, transfer, locale) : isOpen(order) ? renderUnpayable(support) : renderClosed(order, support)}
${order.state === 'pending' && renderCancel(order)}
</div>`,
  };
}

function renderOpen({ order, now, outcome }: PaymentView, transfer: PaymentTransfer, locale: Locale): Html {
  const { code, amount, paidAmount, currency, expiresAt, state } = order;
  return html`<div class="pay">
<div class="card pay-qr">
<img src="${paymentPath(code)}/qr.svg" width="264" height="264" alt="QR code of this transfer for a banking app">
<p class="small muted">Scan it with your banking app. Everything else is filled in.</p>
</div>
<div class="card stack">
<div><p class="small muted">To pay</p><p class="pay-amount figures">${money(transfer.amount, currency)}</p></div>
${state === 'underpaid' && html`<p class="notice notice-warn">${money(paidAmount, currency)} of ${money(amount, currency)} has arrived. Send the rest with the same reference.</p>`}
${outcome && html`<p class="small" id="outcome">${outcome}</p>`}
<dl class="pay-facts">
${fact('bank', 'Bank', transfer.bankName, locale)}
${fact('account-name', 'Account holder', transfer.accountName, locale)}
${fact('account', transfer.qr.format === 'epc' ? 'IBAN' : 'Account number', transfer.accountNumber, locale)}
${fact('content', 'Payment reference', transfer.content, locale)}
</dl>
<p class="small muted">The reference matches the money to your order: do not change it.</p>
<p class="notice row row-apart pay-wait"><span><span role="status" data-waiting>Waiting for the transfer</span><span class="pulse" aria-hidden="true"></span></span>
<span>Expires in <span class="figures" role="timer" data-left="${expiresAt - now}">${timeLeft(expiresAt - now)}</span></span></p>
<p class="needs-no-script small">Reload this page to see whether the money has arrived.</p>
</div>
</div>
<p class="small muted">Money that arrives later still counts. Banks book most transfers within minutes; you may close this page.</p>`;
}

/** Only before the payment. */
function renderCancel({ code }: OrderRecord): Html {
  return html`<form class="stack-small pay-cancel" data-api="POST ${paymentPath(code)}/cancel" data-then="/pay/${code}"
data-confirm="If you have sent the money already, do not cancel: support would have to look for it." data-confirm-label="Cancel the order" data-confirm-bad data-problem="problem-cancel">
<p class="problem" role="alert" id="problem-cancel"></p>
<div>${scriptedButton('Cancel this order', 'button-quiet button-small')}</div>
<p class="needs-no-script small muted">Cancelling this order needs scripts, or the API.</p></form>`;
}

function renderUnpayable(support: Support): Html {
  return html`<div class="card stack"><h2>Payments are not available right now</h2>
<p class="muted">The service has no bank account configured. Your order stays open. ${supportWords(support)}</p></div>`;
}

function fact(id: string, name: string, value: string, locale: Locale): Html {
  return html`<div><dt>${name}</dt><dd><span id="${id}">${value}</span>${copyButton(id, name, locale)}</dd></div>`;
}

type ClosedState = Exclude<OrderState, 'pending' | 'underpaid'>;

const CLOSED: Readonly<Record<ClosedState, { title: string; words: string; isSuccess?: true }>> = {
  paid: { title: 'Payment received', words: 'All your keys can use the plan now.', isSuccess: true },
  expired: {
    title: 'This order has expired',
    words:
      'No payment arrived in time. If you sent one, it still counts when the bank books it. Otherwise place a new order.',
  },
  cancelled: { title: 'This order was cancelled', words: 'Do not pay it. Place a new order instead.' },
  refunded: { title: 'This order was refunded', words: 'The money was returned to the account that it came from.' },
  needs_review: {
    title: 'This order is under review',
    words:
      'The money that arrived does not match the order exactly. No money is lost. Send support the code of the order.',
  },
};

function renderClosed({ state, paidAt, paidAmount, currency }: OrderRecord, support: Support): Html {
  const { title, words, isSuccess } = CLOSED[state as ClosedState];
  return html`<div class="card stack pay-closed">
${isSuccess && html`<svg class="tick" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true"><circle cx="24" cy="24" r="24"/><path d="M14 25l7 7 13-15"/></svg>`}
<h2>${title}</h2><p class="muted">${words} ${state === 'needs_review' && supportWords(support)}</p>
${paidAt !== null && html`<p class="small muted figures">${money(paidAmount, currency)}, ${minute(paidAt)}</p>`}
<div class="row">${isSuccess ? html`<a class="button" href="/dashboard">Go to the dashboard</a>` : html`<a class="button" href="/plans">See the plans</a><a class="button button-quiet" href="/dashboard">Dashboard</a>`}</div>
</div>`;
}
