/*
 * The page of all orders of an account, and the receipt of a paid order. A receipt is made for paper: it fits one page,
 * and printing leaves out the frame and the buttons. Its number, date and amount never change; a refund is added as a
 * note.
 */

import { isOpen, type OrderRecord, receiptName } from '../../payments/index.js';
import type { Support } from '../../plans/index.js';
import { type BalanceView, balancePart } from '../components/balance-part.js';
import { accountPages, linkTo } from '../components/filters.js';
import { dataTable, pager } from '../components/table.js';
import type { Locale } from '../language/index.js';
import { emptyPage, type Html, html, type Page, supportWords } from '../page.js';
import { orderBadge, type PlanOffer } from '../views.js';
import { orderForm } from './plans.js';

export type OrderRow = OrderRecord & { planName: string };

export interface OrdersPageView {
  rows: readonly OrderRow[];
  isFirst: boolean;
  /** Code with which the next page begins. Undefined on the last one. */
  next: string | undefined;
  /** The prepaid balance, on the first page. */
  prepaid: BalanceView;
  /** Plans with the lowest prices, which may be ordered. */
  offers: readonly PlanOffer[];
}

const PATH = '/orders';

export function ordersPage(view: OrdersPageView, locale: Locale): Omit<Page, 'viewer'> {
  const { rows, isFirst, next, prepaid, offers } = view;
  const { texts, money, day } = locale;
  const t = texts.orders;
  const first = rows.find(isOpen);
  const paymentOf = (order: OrderRow) => {
    if (isOpen(order)) {
      const title = html`<span class="visually-hidden"> ${order.code}</span>`;
      const amount = money(order.amount - order.paidAmount, order.currency);
      return html`<a class="button button-small${order !== first && ' button-quiet'}" href="/pay/${order.code}">${order.paidAmount > 0 ? t.payRest(amount) : t.pay(amount)}${title}</a>`;
    }
    const name = receiptName(order);
    return name === null ? '' : html`<a href="/pay/${order.code}/receipt">${t.receiptTitle(name)}</a>`;
  };
  return {
    title: t.title,
    scripts: ['api-forms.js'],
    styles: ['tables.css', 'activity.css'],
    content: html`<div class="frame stack">
<div class="page-head"><h1>${t.title}</h1><p>${t.lead}</p>${accountPages(PATH, locale)}</div>
${balancePart(prepaid, locale)}
${
  rows.length === 0 && isFirst
    ? emptyPage('rows', {
        title: t.empty,
        words: t.emptyWords,
        steps:
          offers.length > 0
            ? html`<ul class="plan-offers">${offers.map((offer, at) => planOffer(offer, at > 0, locale))}</ul><a class="small" href="/plans">${t.seePlans}</a>`
            : html`<a class="button" href="/plans">${t.seePlans}</a>`,
        isLow: true,
      })
    : html`<div class="card stack orders">${dataTable<OrderRow>({
        label: t.title,
        isStacked: true,
        rows,
        columns: [
          { head: t.code, cell: ({ code }) => html`<a href="/pay/${code}"><code>${code}</code></a>` },
          { head: t.date, inCard: 'plain', cell: ({ createdAt }) => day(createdAt) },
          { head: t.plan, inCard: 'plain', cell: ({ planName }) => html`<bdi>${planName}</bdi>` },
          {
            head: t.amount,
            isNumber: true,
            inCard: 'plain',
            cell: ({ amount, currency }) => money(amount, currency),
          },
          { head: t.state, inCard: 'end', cell: ({ state }) => orderBadge(state, locale) },
          { head: t.receipt, isActions: true, cell: paymentOf },
        ],
        empty: { title: t.empty, words: t.emptyWords },
      })}
${pager({ newest: isFirst ? undefined : PATH, older: next && linkTo(PATH, { before: next }) }, locale)}
</div>`
}</div>`,
  };
}

/** A plan that one press orders. */
function planOffer({ id, name, price }: PlanOffer, isQuiet: boolean, locale: Locale): Html {
  const label = html`${locale.texts.plans.choose}<span class="visually-hidden"> ${name}</span>`;
  return html`<li><div><bdi>${name}</bdi><span class="figures">${price}</span></div>${orderForm(id, `offer-${id}`, label, locale, isQuiet)}</li>`;
}

export interface ReceiptView {
  order: OrderRecord;
  /** Name of the receipt: `2026-000042`. */
  number: string;
  planName: string;
  /** Holder of the receiving account. Undefined if none is configured any more. */
  seller: string | undefined;
  /** Text of the transfer. Undefined if it is the code, or not known any more. */
  reference: string | undefined;
  /** Name and address of the user; those that are known. */
  buyer: readonly string[];
  support: Support;
}

export function receiptPage(view: ReceiptView, locale: Locale): Omit<Page, 'viewer'> {
  const { order, number, planName, seller, reference, buyer, support } = view;
  const { code, amount, currency, createdAt, paidAt, state } = order;
  const { texts, money, day, brand } = locale;
  const t = texts.orders;
  const party = (label: string, names: readonly string[], more: Html | false = false) =>
    html`<div class="receipt-party"><dt>${label}</dt>${names.map((name) => html`<dd><bdi>${name}</bdi></dd>`)}${more && html`<dd class="small muted">${more}</dd>`}</div>`;
  return {
    title: t.receiptTitle(number),
    scripts: ['receipt.js'],
    styles: ['payment.css'],
    content: html`<div class="frame frame-text stack receipt">
<div class="page-head"><p class="receipt-brand">${brand.name}</p><h1>${t.receiptTitle(number)}</h1></div>
<div class="card stack">
<dl class="receipt-facts">
<div><dt>${t.paidOn}</dt><dd>${paidAt !== null && day(paidAt)}</dd></div>
<div><dt>${t.methodName}</dt><dd>${t.method}</dd></div>
<div><dt>${t.orderedOn}</dt><dd>${day(createdAt)}</dd></div>
<div><dt>${t.code}</dt><dd><code>${code}</code></dd></div>
${party(t.from, [seller ?? brand.name], reference !== undefined && html`${texts.payment.reference} <code>${reference}</code>`)}
${party(t.to, buyer)}
</dl>
<table class="receipt-lines"><thead><tr><th scope="col">${t.what}</th><th scope="col" class="number">${t.amount}</th></tr></thead>
<tbody><tr><th scope="row"><bdi>${order.topUp ? planName : t.planLine(planName)}</bdi></th><td class="number">${money(amount, currency)}</td></tr></tbody>
<tfoot><tr><th scope="row">${t.total}</th><td class="number">${money(amount, currency)}</td></tr></tfoot></table>
${state === 'refunded' && html`<p class="notice notice-warn">${t.refunded}</p>`}
<p class="small muted">${t.noInvoice}${contactOf(support, locale)}</p>
</div>
<div class="row no-print"><button type="button" class="button needs-script" data-print>${t.print}</button><a class="button button-quiet" href="/pay/${code}">${t.back}</a></div>
</div>`,
  };
}

function contactOf(support: Support, locale: Locale): Html | false {
  const { email, url } = support;
  return (
    (email !== null || url !== null) &&
    html` ${locale.texts.orders.support}: ${supportWords({ ...support, text: '' }, locale)}`
  );
}
