/*
 * Bank money in the console: transfers that wait for a review first. Each is matched to an order, which counts it there
 * as if its text had named the code, or marked as reviewed, for money that was sent back by hand.
 */

import { listOrders, listTransfers } from '../../admin/index.js';
import { dayOf } from '../../format/index.js';
import type { Route } from '../../http/index.js';
import type { OrderRecord, RecordedTransaction } from '../../payments/index.js';
import { badge, dataTable, type Html, html, type Locale, linkRow, linkTo } from '../../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  consoleForm,
  consolePage,
  pagesOf,
  rangeOf,
} from '../console-route.js';
import { action, actions, suggestionList, textField } from '../forms.js';
import { differenceOf } from './orders.js';

const PATH = '/admin/transfers';
const OPEN_ORDERS = 'open-orders';
/** Orders that may wait for the money of a transfer. */
const OPEN_STATES = ['pending', 'underpaid'] as const;
const SUGGESTED = 20;
const FIELDS = { provider: 'Who told of the transfer.', id: "The provider's id of the transfer." };

export function transferPages(services: ConsoleServices): Route[] {
  const { orders } = services.state;
  const show = (call: ConsoleCall) => transfersPage(services, call);
  return [
    consolePage(services, {
      forBilling: true,
      path: '/transfers',
      summary: 'Bank money in the console',
      description: 'Page of bank transfers, those that need a review first.',
      query: { review: '`all` for those that need none as well.', after: 'Cursor.' },
      show,
    }),
    consoleForm(services, {
      forBilling: true,
      path: '/transfers/match',
      summary: 'Match bank money in the console',
      description: 'Counts a transfer without an order for one.',
      form: { ...FIELDS, order: 'Code of its order.' },
      errors: ['order_not_found', 'order_state_conflict', 'invalid_value'],
      show,
      async run({ field, by }) {
        const code = field('order').toUpperCase();
        await orders.match({ provider: field('provider'), id: field('id') }, { code, ...by });
        return `/orders/${encodeURIComponent(code)}?done=matched`;
      },
    }),
    consoleForm(services, {
      forBilling: true,
      path: '/transfers/settle',
      summary: 'End a review in the console',
      description: 'Marks a transfer as reviewed; nothing else changes.',
      form: FIELDS,
      show,
      async run({ field, by }) {
        const isSettled = await orders.settleReview({ provider: field('provider'), id: field('id') }, by);
        return `/transfers?done=${isSettled ? 'settled' : 'nothing'}`;
      },
    }),
  ];
}

async function transfersPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { texts } = locale;
  const t = texts.console.transfers;
  const review = query('review') === 'all' ? 'all' : undefined;
  const { items, next } = await listTransfers(services, review === undefined, rangeOf(call));
  const codes = items.map(({ orderCode }) => orderCode).filter((code) => code !== null);
  const orders = new Map(
    (await services.state.orders.ofCodes([...new Set(codes)])).map((order) => [order.code, order]),
  );
  const only = (label: string, value: string | undefined) => ({
    label,
    href: linkTo(PATH, { review: value }),
    isCurrent: review === value,
  });
  return {
    title: t.title,
    current: 'transfers',
    lead: t.lead,
    content: html`${items.some(({ review: why, orderCode }) => why !== null && orderCode === null) && (await openOrders(services, call))}<section class="card stack">
${linkRow(t.which, [only(t.toReview, undefined), only(t.all, 'all')])}
${dataTable<RecordedTransaction>({
  label: t.title,
  isStacked: true,
  rows: items,
  empty: { title: t.none, words: review === undefined ? t.noneToReview : t.noneYet },
  columns: [
    {
      head: t.text,
      cell: (transfer) =>
        html`<bdi class="entry">${transfer.text}</bdi><span class="detail small muted">${locale.minute(transfer.at)} · <bdi class="mono">${transfer.provider} ${transfer.id}</bdi></span>`,
    },
    {
      head: texts.orders.amount,
      isNumber: true,
      inCard: 'end',
      cell: ({ amount, currency }) => locale.money(amount, currency),
    },
    {
      head: t.review,
      inCard: 'plain',
      cell: (transfer) => {
        const { review: why, orderCode } = transfer;
        // Where it waits, a button leads to the order.
        const code = html`<code>${orderCode}</code>`;
        const of = orderCode !== null && (why !== null ? code : html`<a href="${orderPath(orderCode)}">${code}</a>`);
        return html`${why !== null && badge(texts.console.reviews[why], 'warn')}${of && html`<span class="detail small">${t.order} ${of}</span>`}${renderExpected(transfer, orders.get(orderCode ?? ''), locale)}`;
      },
    },
    {
      head: texts.console.history.action,
      isActions: true,
      cell: (transfer) => renderActions(transfer, orders.get(transfer.orderCode ?? ''), call),
    },
  ],
})}
${pagesOf(call, { path: PATH, filters: { review }, ...(next && { next }) })}
</section>`,
  };
}

/** For the field of an order: each with its price and its day. */
async function openOrders(services: ConsoleServices, { locale }: ConsoleCall): Promise<Html> {
  const pages = await Promise.all(OPEN_STATES.map((state) => listOrders(services, { state }, { limit: SUGGESTED })));
  const open = pages.flatMap(({ items }) => items).sort((one, other) => other.createdAt - one.createdAt);
  return suggestionList(
    OPEN_ORDERS,
    open.slice(0, SUGGESTED).map(({ code, amount, currency, state, createdAt }) => ({
      value: code,
      label: `${locale.money(amount, currency)} · ${locale.texts.words.orderStates[state]} · ${dayOf(createdAt)}`,
    })),
  );
}

/** What its order costs; while it waits, also how far all that came for the order is from that. */
function renderExpected({ review }: RecordedTransaction, order: OrderRecord | undefined, locale: Locale): Html | false {
  if (!order) return false;
  const { amount, currency } = order;
  const difference = review !== null && review !== 'wrong_currency' && differenceOf(order, locale);
  return html`<span class="detail small muted">${locale.texts.console.transfers.expected(locale.money(amount, currency))}${difference && html` · ${difference}`}</span>`;
}

function orderPath(code: string): string {
  return `/admin/orders/${code}`;
}

function renderActions(
  transfer: RecordedTransaction,
  wanted: OrderRecord | undefined,
  { locale, field, problem }: ConsoleCall,
): Html | false {
  const { review, provider, id, orderCode, amount, currency, text } = transfer;
  if (review === null) return false;
  const { transfers: t, reviews } = locale.texts.console;
  const hidden = html`<input type="hidden" name="provider" value="${provider}"><input type="hidden" name="id" value="${id}">`;
  const isOpen = problem !== undefined && field('provider') === provider && field('id') === id;
  const name = encodeURIComponent(`${provider} ${id}`);
  const about = html`<strong>${locale.money(amount, currency)}</strong> ${badge(reviews[review], 'warn')}<br><bdi>${text}</bdi>${renderExpected(transfer, wanted, locale)}`;
  const order = textField({
    name: 'order',
    id: `order-${name}`,
    label: t.order,
    isRequired: true,
    placeholder: 'MG7K3M9QXD',
    maxLength: 20,
    list: OPEN_ORDERS,
    value: isOpen ? field('order') : '',
  });
  return actions([
    orderCode !== null && html`<a class="button button-small" href="${orderPath(orderCode)}">${t.open}</a>`,
    orderCode === null &&
      action(
        {
          path: '/transfers/match',
          id: `match-${name}`,
          label: t.match,
          about,
          words: t.matchWords,
          button: t.matchNow,
          fields: html`${hidden}${order}`,
          isPrimary: true,
          isOpen: isOpen && field('order') !== '',
        },
        locale,
        problem,
      ),
    action(
      {
        path: '/transfers/settle',
        id: `settle-${name}`,
        label: t.settle,
        about,
        words: t.settleWords,
        button: t.settleNow,
        fields: hidden,
      },
      locale,
    ),
  ]);
}
