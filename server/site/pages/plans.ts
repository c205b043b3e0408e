/*
 * The pages of the plans and of one order. The plans page says what a paid plan would do to the current one, and once what
 * all plans include. A plan that was chosen stands above the others, with all that is in it. An open
 * order shows the QR code, the bank account, the amount and the time left; it can be cancelled only before a payment.
 * Closed orders say how they ended; one that needs a review also names the support. A script loads the page again when
 * the state changes.
 */

import type { BalanceState } from '../../accounts/index.js';
import { minorDigits } from '../../format/index.js';
import {
  bankAppLinks,
  isOpen,
  type OrderRecord,
  type OrderState,
  type PaymentTransfer,
  paymentPath,
  receiptName,
} from '../../payments/index.js';
import type { Support } from '../../plans/index.js';
import type { Locale } from '../language/index.js';
import { bar, copyButton, type Html, html, type Page, scriptedButton, supportWords } from '../page.js';
import { orderBadge, type PlanPoint, type PlanView, timeLeft } from '../views.js';
import type { AllowanceView } from './dashboard.js';

export interface PlansView {
  plans: readonly PlanView[];
  isSignedIn: boolean;
  support: Support;
  /** Of the signed-in user. */
  currentPlanId?: string;
  /** Of the current plan. Default: it has no amounts. */
  left?: readonly AllowanceView[] | undefined;
  /** The plan that the visitor has chosen, also before the sign-in. */
  chosenId?: string | undefined;
  /** Whether what is bought is added to what is left. Default false: a plan may replace another one. */
  isAdded?: boolean;
  /** Those of the user that wait for money, newest first. Default: none. */
  openOrders?: readonly OrderRecord[];
}

export function plansPage(
  { plans, support, isSignedIn, currentPlanId, chosenId, left, isAdded = false, openOrders = [] }: PlansView,
  locale: Locale,
): Omit<Page, 'viewer'> {
  const t = locale.texts.plans;
  const chosen = plans.find(({ id, canBeOrdered }) => id === chosenId && canBeOrdered);
  const hasRates = plans.some(({ isCheapest }) => isCheapest);
  return {
    title: t.title,
    description: t.description,
    current: '/plans',
    scripts: ['api-forms.js'],
    styles: ['plan-cards.css'],
    content: html`<div class="frame">
<div class="page-head"><h1>${t.title}</h1><p>${t.lead}</p></div>
${openOrders.length > 0 && html`<ul class="notice notice-warn plan-open">${openOrders.map((order) => openOrder(order, locale))}</ul>`}
${chosen && renderChosen(chosen, { isSignedIn, hasRates }, locale)}
<h2${chosen ? html` class="plans-other"` : html` class="visually-hidden"`}>${chosen ? t.others : t.content}</h2>
${renderPlanCards({ plans: plans.filter((plan) => plan !== chosen), isSignedIn, currentPlanId, left, hasRates, isFolded: chosen !== undefined }, locale)}
${renderPaying(plans, support, isAdded, locale)}
</div>`,
  };
}

function openOrder({ code, amount, paidAmount, currency }: OrderRecord, locale: Locale): Html {
  const { texts, money } = locale;
  const due = money(amount - paidAmount, currency);
  return html`<li><span>${texts.plans.isOpen(html`<code>${code}</code>`, paidAmount > 0 && money(paidAmount, currency))}</span><a class="button button-quiet button-small" href="/pay/${code}">${texts.orders.pay(due)}<span class="visually-hidden"> ${code}</span></a></li>`;
}

interface Comparing {
  isSignedIn: boolean;
  /** Whether the plans are compared by what a million tokens costs. */
  hasRates: boolean;
}

/** What the visitor has chosen, with its effect, before it is ordered. */
function renderChosen(plan: PlanView, { isSignedIn, hasRates }: Comparing, locale: Locale): Html {
  const { id, name, price, points, outcome } = plan;
  const t = locale.texts.plans;
  const to = `/login?${new URLSearchParams({ return_to: pathOf(id) })}`;
  return html`<section class="card plan-chosen" aria-labelledby="chosen">
<div class="stack"><h2 id="chosen">${t.chosen(name)}</h2>
${renderPoints(points, locale)}
${outcome && html`<p class="small muted">${outcome}</p>`}</div>
<div class="stack"><p class="plan-price figures">${price === null ? t.priceInOrder : priceOf(plan)}${hasRates && html`<span class="plan-rate">${plan.rate}</span>`}</p>
${isSignedIn ? orderForm(id, 'chosen', t.order, locale) : html`<a class="button" href="${to}">${t.signInToOrder}</a>`}
<p class="small muted">${t.thenCode}</p></div>
</section>`;
}

function priceOf({ price, period }: PlanView): Html {
  return html`${price}${period !== undefined && html` <span class="small muted">${period}</span>`}`;
}

/** The page with a plan chosen. */
function pathOf(id: string): string {
  return `/plans?${new URLSearchParams({ plan: id })}`;
}

/** Orders a plan with one press. @param place Of the form in its page. */
export function orderForm(
  id: string,
  place: string,
  label: Html | string,
  { texts: { plans: t } }: Locale,
  isQuiet = false,
): Html {
  const problem = `problem-${place}`;
  return html`<form class="plan-form" data-api="POST /api/agent/payment" data-then="/pay/{payment.code}" data-problem="${problem}">
<input type="hidden" name="planId" value="${id}">
<p class="problem" role="alert" id="${problem}"></p>
${scriptedButton(label, isQuiet ? 'button-quiet' : '')}
<p class="needs-no-script small muted">${t.needsScripts}</p>
</form>`;
}

function renderPaying(plans: readonly PlanView[], support: Support, isAdded: boolean, locale: Locale): Html {
  const t = locale.texts.plans;
  const isSold = plans.some(({ canBeOrdered }) => canBeOrdered);
  return html`<section class="section faq" aria-labelledby="paying">
<h2 id="paying">${isSold ? t.howPaying : t.howToGet}</h2>
<dl>
${
  isSold &&
  html`<div><dt>${t.transfer}</dt><dd>${t.transferWords}</dd></div>
<div><dt>${t.matched}</dt><dd>${t.matchedWords}</dd></div>`
}
<div><dt>${t.change}</dt><dd>${isAdded ? t.addedWords : t.changeWords}</dd></div>
<div id="support"><dt>${isSold ? t.otherWays : t.support}</dt><dd>${supportWords(support, locale)}</dd></div>
</dl>
</section>`;
}

interface PlanCardsView extends Pick<PlansView, 'plans' | 'isSignedIn' | 'currentPlanId' | 'left'> {
  /** Default: whether one of the plans is the cheapest. */
  hasRates?: boolean;
  /** Whether a phone shows name, price and button alone. Default false. */
  isFolded?: boolean;
}

/** What all plans include is said once; on a phone also what all do that are paid. */
export function renderPlanCards(view: PlanCardsView, locale: Locale): Html {
  const { plans, isSignedIn, currentPlanId, left = [], isFolded = false } = view;
  const { hasRates = plans.some(({ isCheapest }) => isCheapest) } = view;
  const t = locale.texts.plans;
  const marked = (plans.find(({ id }) => id === currentPlanId) ?? plans.find(({ isCheapest }) => isCheapest))?.id;
  const common = commonPoints(plans);
  const shared = common.length > 0 || isFolded ? [] : commonPoints(plans.filter(({ isFree }) => !isFree));
  const mark = ({ id, isCheapest }: PlanView) => {
    const words = id === currentPlanId ? t.yours : isCheapest && t.cheapest;
    return words && html` <span class="badge badge-good">${words}</span>`;
  };
  return html`${common.length > 0 && html`<div class="plan-common"><span>${t.every}</span>${renderPoints(common, locale)}</div>`}${shared.length > 0 && html`<div class="plan-common plan-common-phone"><span>${t.everyPaid}</span>${renderPoints(shared, locale)}</div>`}<ul class="plans${isFolded && html` plans-folded`}">${plans.map(
    (plan) => html`<li class="card plan${plan.id === marked && html` plan-current`}">
<h3>${plan.name}${mark(plan)}</h3>
<p class="plan-price figures">${plan.price === null ? (plan.canBeOrdered ? t.priceInOrder : t.onRequest) : priceOf(plan)}${hasRates && html`<span class="plan-rate">${plan.rate}</span>`}</p>
${renderPoints(
  plan.points.filter((point) => !isAmong(common, point)),
  locale,
  plan.isFree ? [] : shared,
)}
${plan.id === currentPlanId && left.length > 0 && renderUse(left, locale)}
${plan.note !== null && html`<p class="small muted">${plan.note}</p>`}
${plan.outcome && addsToPoints(plan.outcome, locale) && html`<p class="small muted plan-outcome">${plan.outcome}</p>`}
${renderAction(plan, { isSignedIn, isCurrent: plan.id === currentPlanId, isQuiet: hasRates ? !plan.isCheapest : plan.id === currentPlanId || !isSignedIn }, locale)}
</li>`,
  )}</ul>`;
}

/** @param shared Those that a phone says above all plans. */
function renderPoints(
  points: readonly PlanPoint[],
  { texts: { plans: t } }: Locale,
  shared: readonly PlanPoint[] = [],
): Html {
  return html`<ul class="plan-points">${points.map((point) =>
    point.isMissing
      ? html`<li class="plan-missing"><span class="visually-hidden">${t.notIncluded} </span>${point.words}</li>`
      : html`<li${isAmong(shared, point) && html` class="plan-shared"`}>${point.words}</li>`,
  )}</ul>`;
}

function isAmong(points: readonly PlanPoint[], { words }: PlanPoint): boolean {
  return points.some((point) => point.words === words);
}

function renderUse(allowances: readonly AllowanceView[], { texts, count }: Locale): Html {
  const { used } = texts.dashboard.plan;
  return html`<div class="stack-small small">${allowances.map(({ label, left, limit }) => html`<div class="row row-apart"><span class="muted">${label}</span><span class="figures">${used(count(limit - left), count(limit))}</span></div>${bar(limit === 0 ? 0 : left / limit)}`)}</div>`;
}

/** What every plan includes, if there are several to compare: it is said once. One line alone stays in the cards. */
function commonPoints(plans: readonly PlanView[]): readonly PlanPoint[] {
  const [first, ...others] = plans;
  if (!first || others.length === 0) return [];
  const has = ({ points }: PlanView, wanted: string) =>
    points.some(({ words, isMissing }) => words === wanted && !isMissing);
  const common = first.points.filter(({ words }) => plans.every((plan) => has(plan, words)));
  return common.length > 1 ? common : [];
}

/** That a plan has no end is among its points. */
function addsToPoints(outcome: Html, { texts }: Locale): boolean {
  return outcome.markup.trim() !== html`${texts.plans.outcome.neverExpires}`.markup;
}

interface Choosing {
  isSignedIn: boolean;
  /** Whether the account has it. */
  isCurrent: boolean;
  /** Whether the button stands back. */
  isQuiet: boolean;
}

function renderAction(
  { id, name, isFree, canBeOrdered }: PlanView,
  { isSignedIn, isCurrent, isQuiet }: Choosing,
  locale: Locale,
): Html {
  const t = locale.texts.plans;
  const title = html`<span class="visually-hidden"> ${name}</span>`;
  if (isFree)
    return html`<a class="button button-quiet" href="${isSignedIn ? '/dashboard' : '/login'}">${t.start}${title}</a>`;
  if (!canBeOrdered) return html`<a class="button button-quiet" href="/plans#support">${t.askSupport}${title}</a>`;
  if (!isSignedIn)
    return html`<a class="button${isQuiet && html` button-quiet`}" href="${pathOf(id)}">${t.choose}${title}</a>`;
  return orderForm(id, id, html`${isCurrent ? t.buyMore : t.choose}${title}`, locale, isQuiet);
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
  /** Of a plan that was paid. Default: it is not the current one, or has no amounts. */
  left?: readonly AllowanceView[] | undefined;
  /** After a top-up that was paid. */
  balance?: BalanceState | undefined;
}

export function paymentPage(view: PaymentView, locale: Locale): Omit<Page, 'viewer'> {
  const { order, planName, transfer, support } = view;
  const { texts, minute } = locale;
  const t = texts.payment;
  return {
    title: t.title(texts.words.orderStates[order.state], order.code),
    scripts: ['payment.js', 'api-forms.js'],
    styles: ['payment.css'],
    content: html`<div class="frame frame-text" data-payment="${order.code}" data-state="${order.state} ${order.paidAmount}">
<div class="page-head"><p class="back"><a href="/orders">${t.allOrders}</a></p><div class="row"><h1>${planName}</h1>${isOpen(order) && orderBadge(order.state, locale)}</div>
<p>${t.order(html`<code id="code">${order.code}</code>`, minute(order.createdAt))}</p></div>
${transfer ? renderOpen(view, transfer, locale) : isOpen(order) ? renderUnpayable(order, support, locale) : renderClosed(view, locale)}
</div>`,
  };
}

/** What to pay, whether it has arrived, and the code; beside the amount where there is room. */
function renderOpen({ order, now, outcome }: PaymentView, transfer: PaymentTransfer, locale: Locale): Html {
  const { code, amount, paidAmount, currency, expiresAt, state } = order;
  const { money, texts } = locale;
  const t = texts.payment;
  const left = html`<span class="figures" role="timer" data-left="${expiresAt - now}">${timeLeft(expiresAt - now)}</span>`;
  return html`<div class="pay">
<div class="card stack">
<div><p class="small muted">${t.toPay}</p><div class="row row-apart"><p class="pay-amount figures">${money(transfer.amount, currency)}</p><span class="visually-hidden" id="amount">${plainAmount(transfer.amount, currency)}</span>${copyButton('amount', t.amount, locale)}</div></div>
${state === 'underpaid' && html`<div class="stack-small">${bar(1 - paidAmount / amount)}<p class="small">${t.partly(money(paidAmount, currency), money(amount, currency))}</p></div>`}
${outcome && addsToPoints(outcome, locale) && html`<p class="small" id="outcome">${outcome}</p>`}
<dl class="pay-facts">
${fact('account', transfer.qr.format === 'epc' ? t.iban : t.accountNumber, inFours(transfer.accountNumber), locale)}
${fact('content', t.reference, transfer.content, locale, t.referenceWords)}
${fact('bank', t.bank, transfer.bankName, locale)}
${fact('account-name', t.holder, transfer.accountName, locale)}
</dl>
${renderApps(transfer, locale)}
</div>
<div class="card pay-qr">
<img src="${paymentPath(code)}/qr.svg" width="264" height="264" alt="${t.qr}">
<p class="small muted">${t.scan(money(transfer.amount, currency))}</p>
<a class="button button-quiet button-small no-print" href="${paymentPath(code)}/qr.png" download="${code}.png">${t.save}</a>
</div>
<div class="card pay-wait">
<div><p><span role="status" data-waiting>${t.waiting}</span><span class="pulse" aria-hidden="true"></span></p>
<p class="small">${t.expiresIn(left)}</p></div>
<p class="small muted">${t.late}<span class="needs-no-script">${t.reload}</span></p>
${state === 'pending' && renderCancel(order, locale)}
</div>
</div>`;
}

/** As banking apps take it: `299000`, `19.00`. */
function plainAmount(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  return (amount / 10 ** digits).toFixed(digits);
}

/** On phones: the apps are there. */
function renderApps(transfer: PaymentTransfer, { texts: { payment: t } }: Locale): Html | false {
  const links = bankAppLinks(transfer);
  if (links.length === 0) return false;
  return html`<section class="pay-apps stack-small no-print" aria-labelledby="apps"><h2 id="apps">${t.apps}</h2>
<ul class="row">${links.map(({ name, url }) => html`<li><a class="button button-quiet button-small" href="${url}" rel="noreferrer">${name}</a></li>`)}</ul>
<p class="small muted">${t.appsWords}</p></section>`;
}

/** Only before the payment. */
function renderCancel({ code }: OrderRecord, { texts: { payment: t } }: Locale): Html {
  return html`<form class="stack-small" data-api="POST ${paymentPath(code)}/cancel" data-then="/pay/${code}"
data-confirm="${t.cancelConfirm}" data-confirm-label="${t.cancelLabel}" data-confirm-bad data-problem="problem-cancel">
<p class="problem" role="alert" id="problem-cancel"></p>
<div>${scriptedButton(t.cancel, 'button-quiet button-small')}</div>
<p class="needs-no-script small muted">${t.cancelNeedsScripts}</p></form>`;
}

function renderUnpayable(order: OrderRecord, support: Support, locale: Locale): Html {
  const t = locale.texts.payment;
  return html`<div class="card stack"><h2>${t.unavailable}</h2>
<p class="muted">${t.unavailableWords} ${supportWords(support, locale)}</p>
${order.state === 'pending' && renderCancel(order, locale)}</div>`;
}

function fact(id: string, name: string, value: Html | string, locale: Locale, words?: string): Html {
  return html`<div><dt>${name}</dt><dd><span id="${id}">${value}</span>${copyButton(id, name, locale)}</dd>${words !== undefined && html`<dd class="small muted">${words}</dd>`}</div>`;
}

/** As it is on a card, to be read and compared; the gaps are not in the text, so that it is copied without them. */
function inFours(number: string): Html {
  const groups = number.match(/.{1,4}/g) ?? [];
  return html`${groups.map((group) => html`<span class="four">${group}</span>`)}`;
}

function renderClosed({ order, support, left = [], balance }: PaymentView, locale: Locale): Html {
  const { code, state, paidAt, paidAmount, currency } = order;
  const { texts, money, smallMoney, minute } = locale;
  const t = texts.payment;
  const number = receiptName(order);
  const receipt = number !== null && html`<a class="button button-quiet" href="/pay/${code}/receipt">${t.receipt}</a>`;
  const { title, words } = t.closed[state as Exclude<OrderState, 'pending' | 'underpaid'>];
  const isSuccess = state === 'paid';
  return html`<div class="card stack pay-closed">
<div class="pay-result">${isSuccess && html`<svg class="tick" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true"><circle cx="24" cy="24" r="24"/><path d="M14 25l7 7 13-15"/></svg>`}
<div class="stack-small"><h2>${title}</h2><p class="muted">${words} ${state === 'needs_review' && supportWords(support, locale)}</p></div></div>
${
  paidAt !== null &&
  html`<dl class="receipt-facts"><div><dt>${texts.orders.amount}</dt><dd class="figures">${money(paidAmount, currency)}</dd></div>
<div><dt>${texts.orders.paidOn}</dt><dd>${minute(paidAt)}</dd></div>${number !== null && html`<div><dt>${texts.orders.number}</dt><dd class="figures">${number}</dd></div>`}
${balance && html`<div><dt>${texts.balance.title}</dt><dd class="figures">${smallMoney(balance.amount, balance.currency)}</dd></div>`}</dl>`
}
${left.length > 0 && renderUse(left, locale)}
<div class="row">${isSuccess ? html`<a class="button" href="/dashboard">${t.toDashboard}</a>${receipt}` : html`<a class="button" href="/plans">${t.seePlans}</a>${receipt}<a class="button button-quiet" href="/dashboard">${t.dashboard}</a>`}</div>
</div>`;
}
