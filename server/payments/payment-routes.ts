import type Router from '@koa/router';
import { type Clock, GatewayError } from 'mediagate';
import type { SessionDesk } from '../accounts/index.js';
import { createSignedInGuard } from '../accounts/index.js';
import type {
  BodyBudget,
  Next,
  ParamsContext,
  PollGuard,
  RequestContext,
  RequestState,
  SiteAddress,
} from '../http/index.js';
import { createAddressLimit, readJsonBody, sendJson, useJsonBody } from '../http/index.js';
import { markReplayed, readIdempotencyKey } from '../idempotency/index.js';
import type { OrderRecord } from './orders.js';
import { decodePaymentBody, encodePayment, MAX_PAYMENT_BODY_BYTES } from './payment.js';
import type { PaymentDesk } from './payment-desk.js';
import { drawPng, drawSvg } from './qr-picture.js';

export interface PaymentRoutes {
  payments: PaymentDesk;
  sessions: SessionDesk;
  bodies: BodyBudget;
  polls: PollGuard;
  clock: Clock;
  site(): SiteAddress;
  /** Says in refusals where to sign in. */
  notice(context: RequestContext, next: Next): Promise<unknown>;
  /** Lets through what the site's own pages send. */
  sameOrigin(context: RequestContext, next: Next): Promise<void>;
}

/** Of one person: orders are kept for months, also those that were cancelled. */
const ORDERS_PER_MINUTE = 20;

/** Orders of whoever is signed in. */
export function addPaymentRoutes(router: Router<RequestState>, options: PaymentRoutes): void {
  const { payments, sessions, bodies, polls, clock, site, notice, sameOrigin } = options;
  const { support } = payments;
  const signedIn = createSignedInGuard(sessions);
  const made = createAddressLimit({ clock, perMinute: ORDERS_PER_MINUTE, what: 'Too many orders' });

  router.post('/api/agent/payment', notice, signedIn, sameOrigin, async (context: RequestContext) => {
    const { req: request, res: response } = context;
    const user = await begin(context);
    made.admit(user.id);
    const key = readIdempotencyKey(request.headers);
    const limits = { maxBytes: MAX_PAYMENT_BODY_BYTES, budget: bodies, owner: user.accountId };
    const { order, replayed } = await useJsonBody(request, response, limits, async ({ value, fingerprint }) => {
      const { planId } = decodePaymentBody(value);
      return payments.create({ user, planId, ...(key !== undefined && { idempotency: { key, fingerprint } }) });
    });
    if (replayed) markReplayed(response);
    const payment = await encode(order);
    context.status = 201;
    context.set('Location', payment.statusUrl);
    context.body = { payment };
  });

  router.get('/api/agent/payment', notice, async (context: RequestContext) => {
    const user = await begin(context);
    sendJson(context, { payments: await Promise.all((await payments.list(user)).map(encode)) }, 'private');
  });

  router.get('/api/agent/payment/:code', notice, async (context: ParamsContext) => {
    sendJson(context, { payment: await encode(await findOwn(context)) }, 'private');
  });

  router.post('/api/agent/payment/:code/cancel', notice, signedIn, sameOrigin, async (context: ParamsContext) => {
    const user = await begin(context);
    // A form of another page cannot have this type, whatever the browser tells of its origin.
    const limits = { maxBytes: MAX_PAYMENT_BODY_BYTES, budget: bodies, owner: user.accountId };
    await readJsonBody(context.req, context.res, limits);
    context.body = { payment: await encode(await payments.cancel(user, context.params.code ?? '')) };
  });

  router.get('/api/agent/payment/:code/qr.svg', notice, async (context: ParamsContext) => {
    const payload = await payloadOf(context);
    setPicture(context, 'image/svg+xml');
    context.body = await drawSvg(payload);
  });

  router.get('/api/agent/payment/:code/qr.png', notice, async (context: ParamsContext) => {
    const payload = await payloadOf(context);
    setPicture(context, 'image/png');
    context.body = Buffer.from(await drawPng(payload));
  });

  async function begin(context: RequestContext) {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    return user;
  }

  async function findOwn(context: ParamsContext): Promise<OrderRecord> {
    return payments.find(await begin(context), context.params.code ?? '');
  }

  async function payloadOf(context: ParamsContext): Promise<string> {
    const order = await findOwn(context);
    const transfer = payments.transferOf(order);
    if (transfer) return transfer.qr.payload;
    throw new GatewayError('order_state_conflict', `There is nothing to pay: this order is ${order.state}.`);
  }

  async function encode(order: OrderRecord) {
    const transfer = payments.transferOf(order);
    const svg = transfer && (await drawSvg(transfer.qr.payload));
    const preview = await payments.preview(order);
    return encodePayment({ order, transfer, svg, preview, siteUrl: site().url, support });
  }
}

/** What it shows may be less tomorrow, or nothing. */
function setPicture(context: RequestContext, type: string): void {
  context.set('Content-Type', type);
  context.set('Cache-Control', 'private, no-store');
}
