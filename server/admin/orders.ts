/*
 * Orders and bank transfers for operators: list, details, confirm, cancel and refund as the payment service allows it;
 * transfers that need a review, matching one to an order, and recording money that no bank told of. The rules and the
 * audit rows are in server/payments.
 */

import { field, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { AuditEntry } from '../audit/index.js';
import { ORDER_STATES } from '../choices.js';
import { isoTime } from '../format/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
import { type OrderRecord, type OrderState, type RecordedTransaction, receiptName } from '../payments/index.js';
import { type AdminActor, adminRoute, NOTE, NoteBody, strict } from './admin-route.js';
import { encodeAuditEntry } from './audit.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import type { AdminServices, Stored } from './services.js';
import { Order, OrderDetails, Transfer, transferFields } from './shapes.js';

/** Number of latest transfers and audit rows in details. */
const MAX_ROWS = 20;

export interface OrderFilter {
  state?: OrderState;
  accountId?: string;
}

/** Newest first. */
export function listOrders(
  { state: { orders } }: Stored<'orders'>,
  filter: OrderFilter,
  range: ListRange,
): Promise<ListPage<OrderRecord>> {
  return readPage(
    range,
    (part) => orders.list({ ...filter, ...part }),
    ({ createdAt: at, code: id }) => ({ at, id }),
  );
}

export interface WholeOrder {
  order: OrderRecord;
  /** Oldest first. */
  transfers: readonly RecordedTransaction[];
  audit: readonly AuditEntry[];
}

/** @throws GatewayError `order_not_found`. */
export async function showOrder({ state }: Stored<'orders' | 'audit'>, code: string): Promise<WholeOrder> {
  const order = await state.orders.find(code.toUpperCase());
  if (!order) throw new GatewayError('order_not_found', 'There is no such order.', { param: 'code' });
  const [transfers, audit] = await Promise.all([
    state.orders.transactions({ code: order.code }, MAX_ROWS),
    state.audit.list({ subject: order.code, limit: MAX_ROWS }),
  ]);
  return { order, transfers, audit };
}

/** Confirms, cancels or refunds an order. @throws GatewayError `order_not_found`, `order_state_conflict`. */
export function changeOrder(
  { state: { orders } }: Stored<'orders'>,
  verb: 'confirm' | 'cancel' | 'refund',
  code: string,
  by: AdminActor,
): Promise<OrderRecord> {
  return orders[verb]({ code: code.toUpperCase(), ...by });
}

/** Latest first. @param review Whether only those that need a review. */
export function listTransfers(
  { state: { orders } }: Stored<'orders'>,
  review: boolean,
  range: ListRange,
): Promise<ListPage<RecordedTransaction>> {
  return readPage(
    range,
    ({ limit, after }) => {
      const [provider = '', ...id] = after?.id.split(':') ?? [];
      const place = after && { recordedAt: after.at, provider, id: decodeURIComponent(id.join(':')) };
      return orders.transactions({ review, ...(place && { after: place }) }, limit);
    },
    ({ recordedAt: at, provider, id }) => ({ at, id: `${provider}:${encodeURIComponent(id)}` }),
  );
}

/** An order for the API and the `--json` output. */
export function describeOrder(order: OrderRecord) {
  return {
    code: order.code,
    account: order.accountId,
    plan: order.planId,
    state: order.state,
    amount: order.amount,
    paid_amount: order.paidAmount,
    currency: order.currency,
    created_at: isoTime(order.createdAt),
    expires_at: isoTime(order.expiresAt),
    paid_at: isoTime(order.paidAt),
    receipt: receiptName(order),
  };
}

export function describeWholeOrder({ order, transfers, audit }: WholeOrder) {
  return {
    ...describeOrder(order),
    transfers: transfers.map(describeTransfer),
    audit: audit.map(encodeAuditEntry),
  };
}

export function describeTransfer(transfer: RecordedTransaction) {
  return {
    provider: transfer.provider,
    id: transfer.id,
    amount: transfer.amount,
    currency: transfer.currency,
    order: transfer.orderCode,
    review: transfer.review,
    text: transfer.text,
    booked_at: isoTime(transfer.at),
    recorded_at: isoTime(transfer.recordedAt),
  };
}

const CODE = { code: { description: 'Code of the order.', example: 'MG7K3M9QXD' } };

export function orderRoutes(services: AdminServices): Route[] {
  const change = (verb: 'confirm' | 'cancel' | 'refund', summary: string, description: string) =>
    adminRoute(services, {
      method: 'POST',
      path: `/orders/:code/${verb}`,
      params: CODE,
      summary,
      description,
      body: NoteBody,
      answer: { description: 'The order.', name: 'AdminOrder', schema: Order },
      errors: ['order_not_found', 'order_state_conflict'],
      run: async ({ param, by }) => describeOrder(await changeOrder(services, verb, param('code'), by)),
    });
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/orders',
      summary: 'List orders',
      description: 'Lists orders of all accounts, newest first.',
      query: {
        state: { schema: Type.Unsafe<OrderState>(OneOf(...ORDER_STATES)), description: 'Only these. Default: all.' },
        account: { schema: Text, description: 'Only this account.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The orders.', name: 'OrderList', schema: listSchema(Order, 'Orders') },
      async run({ query: { state, account: accountId, limit, after } }) {
        const filter = { ...(state && { state }), ...(accountId !== undefined && { accountId }) };
        return encodePage(await listOrders(services, filter, rangeOf({ limit, after })), describeOrder);
      },
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/orders/:code',
      params: CODE,
      summary: 'Get an order',
      description: 'Returns an order with its transfers and history.',
      answer: { description: 'The order.', name: 'OrderDetails', schema: OrderDetails },
      errors: ['order_not_found'],
      run: async ({ param }) => describeWholeOrder(await showOrder(services, param('code'))),
    }),
    change('confirm', 'Confirm an order', 'Marks an order as paid and assigns its plan. No effect on a paid order.'),
    change('cancel', 'Cancel an order', 'Cancels an order for which nothing has arrived.'),
    change(
      'refund',
      'Refund an order',
      'Records that the money was given back, and takes back what the order granted.',
    ),
    ...transferRoutes(services),
  ];
}

const Settling = Type.Object(
  {
    provider: field(Type.String({ minLength: 1, maxLength: 50 }), 'Service that reported it.', 'payos'),
    id: field(Type.String({ minLength: 1, maxLength: 200 }), 'Its id at the service.', 'B-2041'),
    ...NOTE,
  },
  strict,
);
const Matching = Type.Object(
  { ...Settling.properties, order: Type.String({ minLength: 1, maxLength: 20, description: 'Code of its order.' }) },
  strict,
);

function transferRoutes(services: AdminServices): Route[] {
  const { orders } = services.state;
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/transfers',
      summary: 'List bank transfers',
      description: 'Lists bank transfers, latest first; `review=true` those that wait for an operator.',
      query: {
        review: { schema: Type.Boolean(), description: 'Whether only those that need a review. Default false.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The transfers.', name: 'TransferList', schema: listSchema(Transfer, 'Transfers') },
      async run({ query: { review = false, limit, after } }) {
        return encodePage(await listTransfers(services, review, rangeOf({ limit, after })), describeTransfer);
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/transfers/match',
      summary: 'Match a transfer to an order',
      description: 'Counts a transfer without an order for one, as if its text had named the code.',
      body: Matching,
      example: { provider: 'payos', id: 'B-2041', order: 'MG7K3M9QXD', note: 'the payer forgot the code' },
      answer: { description: 'The order.', name: 'AdminOrder', schema: Order },
      errors: ['order_not_found', 'order_state_conflict'],
      async run({ body: { provider, id, order: code }, by }) {
        return describeOrder(await orders.match({ provider, id }, { code: code.toUpperCase(), ...by }));
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/transfers/settle',
      summary: 'End the review of a transfer',
      description: 'Marks a transfer as reviewed; nothing else changes.',
      body: Settling,
      example: { provider: 'payos', id: 'B-2041', note: 'sent back by hand' },
      answer: {
        description: 'Whether it was under review.',
        name: 'SettledTransfer',
        schema: Type.Object({
          ...transferFields,
          settled: Type.Boolean({ description: 'Whether it was under review.' }),
        }),
      },
      async run({ body: { provider, id }, by }) {
        return { provider, id, settled: await orders.settleReview({ provider, id }, by) };
      },
    }),
  ];
}
