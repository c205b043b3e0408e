/*
 * The routes of the page of all orders and of receipts, for the signed-in user. An order that has no receipt yet leads to
 * its own page.
 */

import { Type } from '../../core/contracts/index.js';
import type { AccountServices } from '../accounts/index.js';
import { type ParamsContext, paramOf, type RequestContext, type Route, seeOther } from '../http/index.js';
import { type PaymentService, receiptName } from '../payments/index.js';
import type { Catalogue } from '../plans/index.js';
import { OWN_PAGE_ROUTE } from './page.js';
import { ordersPage, receiptPage } from './pages/orders.js';
import { labelOf, planName, planOffers } from './views.js';
import { ownVisitOf, sendTo } from './visit.js';

const ROWS = 25;
/** Shown of the balance; the statement has all. */
const MOVEMENTS = 10;

export interface OrderPageServices extends AccountServices {
  payments: PaymentService;
  catalogue: Catalogue;
}

export function orderPageRoutes(services: OrderPageServices): Route[] {
  return [
    {
      ...OWN_PAGE_ROUTE,
      path: '/orders',
      query: {
        before: { schema: Type.String(), description: 'Code of an order: those before it. Default: the newest.' },
      },
      summary: 'Orders page',
      description: 'Page of all orders of the account, with their receipts.',
      handler: (context) => sendOrders(context, services),
    },
    {
      ...OWN_PAGE_ROUTE,
      path: '/pay/:code/receipt',
      params: { code: { description: 'Code of the order.' } },
      summary: 'Receipt page',
      description: 'Receipt of a paid order, for paper. An order without one leads to its page.',
      errors: ['order_not_found'],
      handler: (context) => sendReceipt(context, services),
    },
  ];
}

async function sendOrders(
  context: RequestContext,
  { sessions, payments, catalogue }: OrderPageServices,
): Promise<void> {
  const visit = await ownVisitOf(context, sessions);
  if (!visit) return;
  const { signedIn, locale } = visit;
  const { before } = context.query;
  const after = typeof before === 'string' && before !== '' ? before : undefined;
  const found = await payments.page(signedIn.user, ROWS + 1, after);
  const rows = found
    .slice(0, ROWS)
    .map((order) => ({ ...order, planName: planName({ catalogue, locale }, order.planId) }));
  const next = found.length > ROWS ? rows.at(-1)?.code : undefined;
  const isFirst = after === undefined;
  const offers = rows.length === 0 && payments.acceptsOrders ? planOffers({ catalogue, locale }) : [];
  const [balance, topUps, lines] = isFirst
    ? await Promise.all([
        payments.balanceOf(signedIn.user),
        payments.topUpsFor(signedIn.user),
        payments.statement(signedIn.user, MOVEMENTS),
      ])
    : [undefined, [], []];
  sendTo(context, visit, ordersPage({ rows, isFirst, next, prepaid: { balance, topUps, lines }, offers }, locale));
}

async function sendReceipt(
  context: ParamsContext,
  { sessions, payments, catalogue }: OrderPageServices,
): Promise<void> {
  const visit = await ownVisitOf(context, sessions);
  if (!visit) return;
  const {
    signedIn: { user },
    locale,
  } = visit;
  const order = await payments.find(user, paramOf(context, 'code'));
  const number = receiptName(order);
  if (number === null) return seeOther(context, `/pay/${order.code}`);
  const buyer = [...new Set([labelOf(user, locale), user.email])].filter((name) => name !== null);
  const { seller, support } = payments;
  const reference = payments.referenceOf(order);
  const name = planName({ catalogue, locale }, order.planId);
  sendTo(context, visit, receiptPage({ order, number, planName: name, seller, reference, buyer, support }, locale));
}
