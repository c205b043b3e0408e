import type Router from '@koa/router';
import { type Clock, GatewayError, isGatewayError, type Logger } from 'mediagate';
import { createSignedInGuard, type SessionDesk } from '../accounts/index.js';
import {
  type AddressOf,
  type BodyBudget,
  clientSignal,
  createAddressLimit,
  createAuthFailures,
  createWaitingRoom,
  type Next,
  networkOwner,
  type ParamsContext,
  type PollGuard,
  type RequestContext,
  type RequestState,
  readJsonBody,
  readWait,
  type SiteAddress,
  sendJson,
  takeJsonBody,
  useJsonBody,
} from '../http/index.js';
import { markReplayed, readIdempotencyKey } from '../idempotency/index.js';
import type { KeyTable } from '../keys/index.js';
import type { NoticedTransfer, NoticeReader, PaymentNotice } from './bank-webhooks.js';
import { readGenericNotice, readPayosNotice, readSepayNotice } from './bank-webhooks.js';
import type { OrderRecord, Orders } from './orders.js';
import {
  decodePaymentBody,
  encodePayment,
  encodePaymentStatus,
  isOrderCode,
  MAX_PAYMENT_BODY_BYTES,
} from './payment.js';
import type { PaymentProvider, PaymentSecrets } from './payment-secrets.js';
import { isOpen, type PaymentDesk } from './payment-service.js';
import { drawPng, drawSvg } from './transfer-qr.js';

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

/** Questions of one address: far more than pages ask, far fewer than guessing a code takes. */
const LOOKS_PER_MINUTE = 600;
const LOOK_EVERY_MS = 1_000;
const WAITING = { places: 500, placesEach: 100 };
const RETRY_SECONDS = 5;

export interface PaymentStatusRoute {
  payments: Pick<PaymentDesk, 'look'>;
  clock: Clock;
  addressOf: AddressOf;
  /** Ends all waiting. */
  drain: AbortSignal;
}

/** How an order stands, for whoever knows its code. */
export function addPaymentStatusRoute(router: Router<RequestState>, options: PaymentStatusRoute): void {
  const { payments, clock, addressOf, drain } = options;
  const looks = createAddressLimit({ clock, perMinute: LOOKS_PER_MINUTE, what: 'Too many questions about orders' });
  const waiting = createWaitingRoom(WAITING);

  router.get('/api/payment/gateway', async (context: RequestContext) => {
    const { req: request, res: response, query } = context;
    const address = addressOf(request);
    looks.admit(address);
    const waitMs = readWait(context) * 1_000;
    const { code } = query;
    if (code === undefined) {
      const message = 'code is missing: send the code of an order, as in ?code=MG7K3M9QXD.';
      throw new GatewayError('missing_required_parameter', message, { param: 'code' });
    }
    if (!isOrderCode(code)) throw new GatewayError('order_not_found', 'There is no such order.');
    let order = await payments.look(code);
    const leave = waitMs > 0 && isOpen(order) && !drain.aborted ? waiting.enter(address) : undefined;
    if (leave) {
      const signal = AbortSignal.any([clientSignal(response), drain]);
      order = await untilChanged(order, { waitMs, signal }).finally(leave);
    }
    if (isOpen(order)) context.set('Retry-After', String(RETRY_SECONDS));
    context.set('Cache-Control', 'no-store');
    context.body = { payment: encodePaymentStatus(order) };
  });

  /** As it stands once that is another way, or the time is over, or nobody waits any more. */
  async function untilChanged(
    before: OrderRecord,
    { waitMs, signal }: { waitMs: number; signal: AbortSignal },
  ): Promise<OrderRecord> {
    const endsAt = clock.monotonic() + waitMs;
    for (;;) {
      const left = endsAt - clock.monotonic();
      if (left <= 0 || signal.aborted) return before;
      // An end of the waiting is no failure of it.
      await clock.sleep(Math.min(left, LOOK_EVERY_MS), signal).catch(() => undefined);
      const now = await payments.look(before.code);
      if (now.state !== before.state || now.paidAmount !== before.paidAmount) return now;
    }
  }
}

const MAX_BODY_BYTES = 65_536;
/**
 * Of one address in a minute. A bank whose secret is right never meets it, although others may send from its address: through
 * the same proxy, or as customers of the same payment service.
 */
const WRONG_SIGNATURES = 60;

const READERS: Readonly<Record<PaymentProvider, NoticeReader>> = {
  generic: readGenericNotice,
  payos: readPayosNotice,
  sepay: readSepayNotice,
};

export interface PaymentWebhookRoute {
  orders: Pick<Orders, 'record'>;
  keys: Pick<KeyTable, 'refresh'>;
  secrets: PaymentSecrets;
  bodies: BodyBudget;
  clock: Clock;
  logger: Logger;
  addressOf: AddressOf;
}

/**
 * Where banks and payment services tell of transfers. A 2xx means that the transfer is kept, whatever it was for: what fits no
 * order waits for an operator. Anything else means that it has to be told again.
 */
export function addPaymentWebhookRoute(router: Router<RequestState>, options: PaymentWebhookRoute): void {
  const { orders, keys, secrets, bodies, clock, logger, addressOf } = options;
  const failures = createAuthFailures(clock, WRONG_SIGNATURES);

  router.post('/api/payment/webhook/:provider', async (context: ParamsContext) => {
    const { req: request, res: response, params } = context;
    const provider = (Object.keys(READERS) as PaymentProvider[]).find((name) => name === params.provider);
    const secret = provider && secrets[provider];
    if (!secret) throw new GatewayError('route_not_found', 'No secret is configured for this payment provider.');
    const address = addressOf(request);
    const limits = { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: networkOwner(address) };
    const { bytes, value: body, release } = await takeJsonBody(request, response, limits);
    release();
    const notice = { headers: request.headers, bytes, body, secret, now: clock.now() };
    const transfer = read(provider, notice, address);
    if (transfer) await record(provider, transfer);
    context.body = { success: true };
  });

  function read(provider: PaymentProvider, notice: PaymentNotice, address: string): NoticedTransfer | undefined {
    try {
      return READERS[provider](notice);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      const isForged = error.code === 'invalid_signature';
      const retryAfterSeconds = isForged ? failures.blockedFor(address) : undefined;
      if (retryAfterSeconds !== undefined) {
        const message = 'Too many wrong signatures from this address.';
        throw new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds, cause: error });
      }
      if (isForged) failures.add(address);
      logger.warn('a payment notice was refused', { id: provider, code: error.code, member: error.param });
      throw error;
    }
  }

  async function record(provider: PaymentProvider, transfer: NoticedTransfer): Promise<void> {
    const { transaction, order, replayed } = await orders.record({ ...transfer, provider });
    const { id, review } = transaction;
    // What was paid for holds here from this answer on; other nodes follow within seconds.
    if (order?.state === 'paid') await keys.refresh();
    if (replayed) logger.info('a transfer was told again', { id: `${provider}:${id}` });
    else if (review) logger.warn('a transfer waits for an operator', { id: `${provider}:${id}`, code: review });
    else logger.info('a transfer was counted', { id: order?.code });
  }
}
