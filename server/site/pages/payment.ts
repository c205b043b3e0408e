import type { OrderRecord, OrderState } from '../../payments/index.js';
import { isOpen, type PaymentTransfer, paymentPath } from '../../payments/index.js';
import type { Support } from '../../plans/index.js';
import { minute, money, timeLeft } from '../formats.js';
import { type Html, html } from '../html.js';
import type { Page } from '../page.js';
import { copyButton, scriptedButton, supportWords } from '../pieces.js';
import { orderBadge, orderWords } from '../states.js';

export interface PaymentView {
  order: OrderRecord;
  planName: string;
  /** Undefined where nothing is to be paid, or no account takes money. */
  transfer: PaymentTransfer | undefined;
  support: Support;
  /** What it makes of the plan, if it is paid now. */
  outcome?: Html;
  /** Milliseconds since 1970. */
  now: number;
}

export function paymentPage(view: PaymentView): Omit<Page, 'viewer'> {
  const { order, planName, transfer, support } = view;
  return {
    // A tab in the back tells by it that the money has come.
    title: `${orderWords(order.state)}: order ${order.code}`,
    scripts: ['payment.js', 'api-forms.js'],
    content: html`<div class="frame frame-text" data-payment="${order.code}" data-state="${order.state} ${order.paidAmount}">
<div class="page-head"><div class="row"><h1>${planName}</h1>${orderBadge(order.state)}</div>
<p>Order <code id="code">${order.code}</code> of ${minute(order.createdAt)}</p></div>
${transfer ? renderOpen(view, transfer) : isOpen(order) ? renderUnpayable(support) : renderClosed(order, support)}
${order.state === 'pending' && renderCancel(order)}
</div>`,
  };
}

function renderOpen({ order, now, outcome }: PaymentView, transfer: PaymentTransfer): Html {
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
${fact('bank', 'Bank', transfer.bankName)}
${fact('account-name', 'Account holder', transfer.accountName)}
${fact('account', transfer.qr.format === 'epc' ? 'IBAN' : 'Account number', transfer.accountNumber)}
${fact('content', 'Payment reference', transfer.content)}
</dl>
<p class="small muted">The reference matches the money to your order: do not change it.</p>
<p class="notice row row-apart pay-wait"><span><span role="status" data-waiting>Waiting for the transfer</span><span class="pulse" aria-hidden="true"></span></span>
<span>Expires in <span class="figures" role="timer" data-left="${expiresAt - now}">${timeLeft(expiresAt - now)}</span></span></p>
<p class="needs-no-script small">Reload this page to see whether the money has arrived.</p>
</div>
</div>
<p class="small muted">Money that arrives later still counts. Banks book most transfers within minutes; you may close this page.</p>`;
}

/** Only while no money has come. */
function renderCancel({ code }: OrderRecord): Html {
  return html`<form class="stack-small pay-cancel" data-api="POST ${paymentPath(code)}/cancel" data-then="/pay/${code}"
data-confirm="If you have sent the money already, do not cancel: support would have to look for it." data-confirm-label="Cancel the order" data-confirm-bad data-problem="problem-cancel">
<p class="problem" role="alert" id="problem-cancel"></p>
<div>${scriptedButton('Cancel this order', 'button-quiet button-small')}</div>
<p class="needs-no-script small muted">Cancelling this order needs scripts, or the API.</p></form>`;
}

function renderUnpayable(support: Support): Html {
  return html`<div class="card stack"><h2>This order cannot be paid here right now</h2>
<p class="muted">No account takes money at the moment. Your order stays. ${supportWords(support)}</p></div>`;
}

function fact(id: string, name: string, value: string): Html {
  return html`<div><dt>${name}</dt><dd><span id="${id}">${value}</span>${copyButton(id, name)}</dd></div>`;
}

type ClosedState = Exclude<OrderState, 'pending' | 'underpaid'>;

const CLOSED: Readonly<Record<ClosedState, { title: string; words: string; good?: true }>> = {
  paid: { title: 'Thank you, it is paid', words: 'All your keys can use the plan now.', good: true },
  expired: {
    title: 'This order has expired',
    words: 'No money arrived in time. If you sent it, it still counts once it is booked; otherwise place a new order.',
  },
  cancelled: { title: 'This order was cancelled', words: 'Send no money for it. Place a new order instead.' },
  refunded: { title: 'This order was refunded', words: 'The money went back to the account that it came from.' },
  needs_review: {
    title: 'This order is under review',
    words:
      'The money that arrived does not match the order exactly. Nothing is lost: give support the code of the order.',
  },
};

function renderClosed({ state, paidAt, paidAmount, currency }: OrderRecord, support: Support): Html {
  const { title, words, good } = CLOSED[state as ClosedState];
  return html`<div class="card stack pay-closed">
${good && html`<svg class="tick" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true"><circle cx="24" cy="24" r="24"/><path d="M14 25l7 7 13-15"/></svg>`}
<h2>${title}</h2><p class="muted">${words} ${state === 'needs_review' && supportWords(support)}</p>
${paidAt !== null && html`<p class="small muted figures">${money(paidAmount, currency)}, ${minute(paidAt)}</p>`}
<div class="row">${good ? html`<a class="button" href="/dashboard">Go to the dashboard</a>` : html`<a class="button" href="/plans">See the plans</a><a class="button button-quiet" href="/dashboard">Dashboard</a>`}</div>
</div>`;
}
