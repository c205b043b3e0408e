/*
 * Orders in the console: the list by state, code or user, and the page of one order with its transfers, history and what its state
 * allows: confirm, cancel, refund. Each action states what it will do to the plan of the account. The rules are those of
 * server/payments, which refuse what a form offered too late.
 */

import { changeOrder, listOrders, showOrder, type WholeOrder } from '../../admin/index.js';
import { ORDER_STATES } from '../../choices.js';
import type { Route } from '../../http/index.js';
import { type OrderRecord, type OrderState, type RecordedTransaction, receiptName } from '../../payments/index.js';
import { badge, dataTable, type Html, html, type Locale, orderBadge, planName } from '../../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  choiceOf,
  consoleForm,
  consolePage,
  pagesOf,
  rangeOf,
} from '../console-route.js';
import { action, actions } from '../forms.js';
import { historySection } from '../history.js';
import { chooseOwner, readOwner } from '../owner-filter.js';
import { backTo, emptyList, facts, ownerLink, ownersOf, searchBar, section } from '../parts.js';

const PATH = '/admin/orders';
/** As users write it. */
const CODE_TEXT = /^mg[0-9a-z]{8}$/i;
const CODE = { code: { description: 'Code of the order.' } };
/** Those that one looks for, in the order of their course. */
const TABS = ['needs_review', 'pending', 'underpaid', 'paid', 'refunded', 'expired', 'cancelled'] as const;
/** Those of them that are not done are counted, up to so many. */
const OPEN_TABS = ['needs_review', 'pending', 'underpaid'] as const;
const MOST_COUNTED = 100;
type Verb = 'confirm' | 'cancel' | 'refund';

/** States in which a verb is offered. */
const OFFERED: Readonly<Record<Verb, readonly OrderState[]>> = {
  confirm: ['pending', 'underpaid', 'expired', 'needs_review'],
  cancel: ['pending'],
  refund: ['paid', 'underpaid', 'needs_review'],
};

export function orderPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => orderPage(services, call);
  const change = (verb: Verb, summary: string, description: string) =>
    consoleForm(services, {
      forBilling: true,
      path: `/orders/:code/${verb}`,
      params: CODE,
      summary,
      description,
      errors: ['order_not_found', 'order_state_conflict'],
      show,
      async run({ param, by }) {
        const { code } = await changeOrder(services, verb, param('code'), by);
        return `/orders/${code}?done=order_${verb}`;
      },
    });
  return [
    consolePage(services, {
      forBilling: true,
      path: '/orders',
      summary: 'Orders in the console',
      description: 'Page of the orders of all accounts, by state, and by code, user or account.',
      query: {
        q: 'Code of an order, address or name of a user, or id of an account.',
        state: 'A state of orders.',
        account: 'Id of an account. Used without `q`.',
        after: 'Cursor.',
      },
      show: (call) => ordersPage(services, call),
    }),
    consolePage(services, {
      forBilling: true,
      path: '/orders/:code',
      params: CODE,
      summary: 'An order in the console',
      description: 'Page of an order: transfers, history, and what an operator can do.',
      errors: ['order_not_found'],
      show,
    }),
    change('confirm', 'Confirm an order in the console', 'Marks an order as paid and assigns its plan.'),
    change('cancel', 'Cancel an order in the console', 'Cancels an order for which nothing has arrived.'),
    change('refund', 'Refund an order in the console', 'Records a refund, and takes back what the order granted.'),
  ];
}

async function ordersPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query, isBilling } = call;
  const { texts, day, money } = locale;
  const t = texts.console.orders;
  const [state, search] = [choiceOf(query('state'), ORDER_STATES), query('q') ?? query('account')];
  const code = search !== undefined && CODE_TEXT.test(search) ? search.toUpperCase() : undefined;
  const account = await readOwner(services, code === undefined ? search : undefined);
  const { accountId } = account;
  const filter = { ...(state && { state }), ...(accountId !== undefined && { accountId }) };
  const { items, next } =
    code !== undefined
      ? { items: await services.state.orders.ofCodes([code]) }
      : account.several.length > 0
        ? { items: [] }
        : await listOrders(services, filter, rangeOf(call));
  const [owners, counts] = await Promise.all([
    ownersOf(
      services,
      items.map((order) => order.accountId),
    ),
    search === undefined ? openCounts(services, locale) : new Map<OrderState, string>(),
  ]);
  const filters = { q: search, state };
  const reset = search !== undefined || state !== undefined ? PATH : undefined;
  return {
    title: t.title,
    current: 'orders',
    lead: t.lead,
    content: html`${searchBar(
      {
        path: PATH,
        label: t.search,
        placeholder: t.searchHint,
        value: code ?? account.text,
        reset: search === undefined || (items.length === 0 && account.several.length === 0) ? undefined : PATH,
        tabs: {
          name: 'state',
          label: t.state,
          value: state,
          of: [undefined, ...TABS].map((value) => ({
            value,
            label: value === undefined ? texts.usage.all : texts.words.orderStates[value],
            count: value && counts.get(value),
          })),
        },
      },
      locale,
    )}
<section class="card stack">
${dataTable<OrderRecord>({
  label: t.title,
  isStacked: true,
  rows: items,
  empty:
    chooseOwner(account, { path: PATH, query: filters, name: 'q' }, locale) ??
    emptyList(
      search === undefined && state !== undefined
        ? { title: t.noneIn[state], words: state === 'refunded' ? t.noneRefunded : '', reset }
        : { title: t.none, words: reset === undefined ? t.noneYet : t.noneFound, reset },
      locale,
    ),
  columns: [
    {
      head: texts.orders.code,
      cell: ({ code }) => html`<a class="row-link" href="${PATH}/${code}"><code>${code}</code></a>`,
    },
    { head: t.state, inCard: 'edge', cell: (order) => orderBadge(order.state, locale) },
    { head: t.user, inCard: 'plain', cell: (order) => ownerLink(order.accountId, owners, !isBilling) },
    {
      head: texts.orders.plan,
      inCard: 'plain',
      cell: ({ planId }) => html`<bdi>${planName({ catalogue: services.catalogue, locale }, planId)}</bdi>`,
    },
    {
      head: texts.orders.amount,
      isNumber: true,
      inCard: 'end',
      cell: (order) =>
        html`${money(order.amount, order.currency)}${order.paidAmount > 0 && order.paidAmount !== order.amount && html`<span class="detail small muted beside">${t.arrived(money(order.paidAmount, order.currency))}</span>`}`,
    },
    { head: texts.orders.date, isNumber: true, inCard: 'foot', cell: ({ createdAt }) => day(createdAt) },
  ],
})}
${pagesOf(call, { path: PATH, filters, ...(next && { next }) })}
</section>`,
  };
}

/** How many wait in each state, written. */
async function openCounts(
  { state: { orders } }: ConsoleServices,
  { count }: Locale,
): Promise<ReadonlyMap<OrderState, string>> {
  const found = await Promise.all(OPEN_TABS.map((state) => orders.countIn(state, MOST_COUNTED)));
  const counted = OPEN_TABS.map((state, index) => [state, found[index] ?? 0] as const);
  return new Map(
    counted.map(([state, some]) => [state, some < MOST_COUNTED ? count(some) : `${count(MOST_COUNTED - 1)}+`]),
  );
}

async function orderPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, param, isBilling } = call;
  const { texts, day, minute, money } = locale;
  const whole = await showOrder(services, param('code'));
  const { order, transfers } = whole;
  const owners = await ownersOf(services, [order.accountId]);
  const t = texts.console.orders;
  const { amount, paidAmount, currency } = order;
  const figures = [
    [texts.orders.amount, money(amount, currency)],
    [t.received, money(paidAmount, currency)],
    [t.difference, paidAmount > 0 && differenceOf(order, locale)],
  ] as const;
  return {
    title: t.orderTitle(order.code),
    current: 'orders',
    back: backTo(PATH, t.title),
    primary: renderActions(whole, locale),
    content: html`${order.state === 'needs_review' && renderReview(transfers, locale)}<section class="card stack">
<dl class="totals totals-card">${figures.map(([name, value]) => value !== false && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${facts([
  [t.state, orderBadge(order.state, locale)],
  [t.user, ownerLink(order.accountId, owners, !isBilling)],
  [texts.orders.plan, html`<bdi>${planName({ catalogue: services.catalogue, locale }, order.planId)}</bdi>`],
  [texts.orders.date, minute(order.createdAt)],
  [t.expires, order.state === 'pending' && minute(order.expiresAt)],
  [texts.orders.paidOn, order.paidAt !== null && day(order.paidAt)],
  [texts.orders.receipt, receiptName(order)],
])}
</section>
${(transfers.length > 0 || paidAmount > 0) && section('transfers', t.transfers, renderTransfers(transfers, locale))}
${await historySection(services, whole.audit, { locale })}`,
  };
}

/** How much more or less than its price came; false if it is the price. */
export function differenceOf({ amount, paidAmount, currency }: OrderRecord, { texts, money }: Locale): string | false {
  const t = texts.console.orders;
  if (paidAmount === amount) return false;
  return paidAmount > amount
    ? t.tooMuch(money(paidAmount - amount, currency))
    : t.tooLittle(money(amount - paidAmount, currency));
}

/** Why the order waits, by the latest transfer that does not fit, and what one can do. */
function renderReview(transfers: readonly RecordedTransaction[], { texts }: Locale): Html {
  const t = texts.console.orders;
  const review = transfers.findLast((transfer) => transfer.review !== null)?.review;
  return html`<p class="notice notice-warn"><strong>${review == null ? t.whyOther : t.why[review]}</strong> ${t.choices}</p>
`;
}

function renderActions({ order }: WholeOrder, locale: Locale): Html | false {
  const { texts, money } = locale;
  const t = texts.console.orders;
  const { code, state, amount, paidAmount, currency } = order;
  const offers = (verb: Verb) => OFFERED[verb].includes(state);
  const path = `/orders/${code}`;
  const received = money(paidAmount, currency);
  const difference = paidAmount > 0 && differenceOf(order, locale);
  const about = html`<code>${code}</code> · ${money(amount, currency)}${difference && html` · <strong>${difference}</strong>`}`;
  return actions([
    offers('confirm') &&
      action(
        {
          path: `${path}/confirm`,
          label: t.confirm,
          about,
          words: t.confirmWords(money(amount, currency), received),
          button: t.confirmNow,
          isPrimary: true,
        },
        locale,
      ),
    offers('refund') &&
      action(
        {
          path: `${path}/refund`,
          label: t.refund,
          about,
          words: state === 'paid' ? t.refundPaidWords(received) : t.refundWords(received),
          button: t.refundNow,
          isBad: true,
        },
        locale,
      ),
    offers('cancel') &&
      action(
        {
          path: `${path}/cancel`,
          label: t.cancel,
          about,
          words: t.cancelWords,
          button: t.cancelNow,
          dismiss: texts.console.goBack,
          isBad: true,
        },
        locale,
      ),
  ]);
}

function renderTransfers(transfers: readonly RecordedTransaction[], locale: Locale): Html {
  const { texts, minute, money } = locale;
  const t = texts.console;
  return dataTable<RecordedTransaction>({
    label: t.orders.transfers,
    isStacked: true,
    rows: transfers,
    empty: { title: t.orders.noTransfers, words: t.orders.noTransfersWords },
    columns: [
      {
        head: t.transfers.text,
        cell: ({ text, provider, id }) =>
          html`<bdi class="entry">${text}</bdi><bdi class="detail small mono muted">${provider} ${id}</bdi>`,
      },
      {
        head: texts.orders.amount,
        isNumber: true,
        inCard: 'end',
        cell: ({ amount, currency }) => money(amount, currency),
      },
      { head: t.transfers.review, inCard: 'plain', cell: ({ review }) => review && badge(t.reviews[review], 'warn') },
      { head: t.transfers.booked, isNumber: true, inCard: 'plain', cell: ({ at }) => minute(at) },
    ],
  });
}

/** Orders on the page of their user. */
export function ordersOfUser({ catalogue }: ConsoleServices, orders: readonly OrderRecord[], locale: Locale): Html {
  const { texts, day, money } = locale;
  const t = texts.console;
  return dataTable<OrderRecord>({
    label: t.users.orders,
    isStacked: true,
    rows: orders,
    empty: { title: t.users.noOrders, words: t.users.noOrdersWords },
    columns: [
      {
        head: texts.orders.code,
        cell: ({ code }) => html`<a class="row-link" href="/admin/orders/${code}"><code>${code}</code></a>`,
      },
      { head: texts.orders.state, inCard: 'edge', cell: ({ state }) => orderBadge(state, locale) },
      {
        head: texts.orders.plan,
        inCard: 'plain',
        cell: ({ planId }) => html`<bdi>${planName({ catalogue, locale }, planId)}</bdi>`,
      },
      {
        head: texts.orders.amount,
        isNumber: true,
        inCard: 'end',
        cell: ({ amount, currency }) => money(amount, currency),
      },
      { head: texts.orders.date, isNumber: true, inCard: 'foot', cell: ({ createdAt }) => day(createdAt) },
    ],
  });
}
