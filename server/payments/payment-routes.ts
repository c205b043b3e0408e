/*
 * The routes of payments: orders of the signed-in user with transfer details and QR code, and the public status of an
 * order for clients that have its code. A user may make 20 orders a minute. A status request may wait for a change: it
 * reads the order every second, and at most 500 requests wait.
 */

import { field, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { type AccountServices, asItStands, SupportSchema } from '../accounts/index.js';
import {
  AddressLimit,
  clientSignal,
  defineRoute,
  MAX_WAIT_SECONDS,
  Nullable,
  OneOf,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJsonBody,
  readWait,
  Semaphore,
  sendJson,
  Text,
  Time,
  Url,
  useJsonBody,
} from '../http/index.js';
import { IDEMPOTENCY_HEADER, markReplayed, readIdempotencyKey } from '../idempotency/index.js';
import type { OrderRecord } from './order-records.js';
import {
  decodePaymentBody,
  encodePayment,
  encodePaymentStatus,
  isOrderCode,
  MAX_PAYMENT_BODY_BYTES,
  PaymentBodySchema,
} from './payment.js';
import { isOpen, type PaymentService } from './payment-service.js';
import { drawPng, drawSvg } from './transfer-qr.js';

/** Limit per user: orders are kept for months, also cancelled ones. */
const ORDERS_PER_MINUTE = 20;

const Payment = Type.Object({
  code: field(Text, 'Code of the order: 10 characters.', 'MG7K3M9QXD'),
  status: field(
    OneOf('pending', 'underpaid', 'paid', 'expired', 'cancelled', 'refunded', 'needs_review'),
    'State of the order.',
  ),
  amount: field(Type.Integer(), 'Price in the minor unit of the currency, e.g. cents.'),
  currency: field(Text, 'Currency (ISO 4217).', 'EUR'),
  paidAmount: field(Type.Integer(), 'Received money in the minor unit of the currency.'),
  createdAt: field(Time, 'When the order was created (RFC 3339).'),
  expiresAt: field(Time, 'When the order expires if it is not paid (RFC 3339).'),
  paidAt: field(Nullable(Time), 'When the plan was granted (RFC 3339). Null before.'),
});
const One = Type.Object({ payment: field(Payment, 'The order.') });

const Transfer = Type.Object({
  bankName: field(Text, 'Name of the bank.'),
  bankBin: field(Nullable(Text), 'BIN or BIC of the bank. Null if the format needs none.'),
  accountNumber: field(Text, 'Number of the account.'),
  accountName: field(Text, 'Holder of the account.'),
  content: field(Text, 'Text that the transfer must have.'),
  amount: field(Type.Integer(), 'Remaining amount in the minor unit of the currency.'),
});
const ResultingPlan = Type.Object({
  planId: field(Text, 'Id of the plan.'),
  asOf: field(Time, 'Time of payment that was assumed (RFC 3339).'),
  expiresAt: field(Nullable(Time), 'When the plan would end (RFC 3339). Null if never.'),
  creditedDays: field(Type.Number(), 'Days credited for the rest of the current plan.'),
  replacesPlanId: field(Nullable(Text), 'Id of the current plan, if it is another one. Otherwise null.'),
  endsReplacedPlan: field(Type.Boolean(), 'Whether the rest of the current plan is lost.'),
  nextPlanId: field(Nullable(Text), 'Id of the plan that resumes afterwards. Null if none does.'),
});
const QrCode = Type.Object({
  format: field(Text, 'Format of the QR code.'),
  payload: field(Text, 'Text of the QR code.'),
  svg: field(Nullable(Text), 'The QR code as SVG. Null if it cannot be drawn.'),
  svgUrl: field(Url, 'Address of the QR code as SVG.'),
  pngUrl: field(Url, 'Address of the QR code as PNG.'),
});
/** An order as its account sees it. */
const OwnPayment = Type.Object({
  ...Payment.properties,
  planId: field(Text, 'Id of the plan, or of the package.'),
  topUp: field(
    Nullable(
      Type.Object({
        credit: field(Text, 'What is added, as a decimal number.', '10'),
        currency: field(Text, 'Currency of the balance (ISO 4217).', 'EUR'),
      }),
    ),
    'What it adds to the prepaid balance. Null if it is a plan.',
  ),
  method: field(Text, 'Method of payment.', 'bank_transfer_qr'),
  transfer: field(Nullable(Transfer), 'What to transfer, and where to. Null if nothing is to be paid.'),
  resultingPlan: field(Nullable(ResultingPlan), 'The plan after a payment now. Null if nothing is to be paid.'),
  qr: field(Nullable(QrCode), 'The transfer as a QR code. Null if nothing is to be paid.'),
  statusUrl: field(Url, 'Address of the public status of the order.'),
  payUrl: field(Url, 'Page of the order.'),
  support: field(SupportSchema, 'Where to ask for help.'),
});
const OneOwn = Type.Object({ payment: field(OwnPayment, 'The order.') });

const CODE = { code: { description: 'Code of the order.', example: 'MG7K3M9QXD' } };

interface PaymentServices extends AccountServices {
  payments: PaymentService;
}

const COMMON = { grant: 'session', tag: 'Payments' } as const;
const picture = (type: string) =>
  ({
    answers: { 200: { description: 'The picture.', type } },
    errors: ['order_not_found', 'order_state_conflict'],
  }) as const;

const ORDER: RouteDeclaration = {
  ...COMMON,
  method: 'POST',
  path: '/api/agent/payment',
  endpoint: 'payment',
  summary: 'Order a plan or a top-up',
  description:
    'Orders a plan, or a package that tops up the prepaid balance. The answer has the details of the bank transfer, as text and as a QR code.',
  headers: IDEMPOTENCY_HEADER,
  body: { schema: PaymentBodySchema, example: { planId: 'token_30m' } },
  answers: { 201: { description: 'What to transfer, and where to.', schema: OneOwn } },
  errors: [
    'price_not_configured',
    'too_many_open_orders',
    'top_up_not_allowed',
    'idempotency_key_reused',
    'rate_limit_exceeded',
  ],
};

const LIST: RouteDeclaration = {
  ...COMMON,
  method: 'GET',
  path: '/api/agent/payment',
  endpoint: 'payment',
  summary: 'List orders',
  description: 'Returns the orders of the account, newest first.',
  answers: asItStands(Type.Object({ payments: field(Type.Array(OwnPayment), 'The orders, newest first.') })),
};

const GET: RouteDeclaration = {
  ...COMMON,
  method: 'GET',
  path: '/api/agent/payment/:code',
  params: CODE,
  endpoint: 'paymentOrder',
  summary: 'Get an order',
  description: 'Returns an order of the account.',
  answers: asItStands(OneOwn),
  errors: ['order_not_found'],
};

const CANCEL: RouteDeclaration = {
  ...COMMON,
  method: 'POST',
  path: '/api/agent/payment/:code/cancel',
  params: CODE,
  endpoint: 'paymentCancel',
  summary: 'Cancel an order',
  description: 'Cancels an order for which no money has arrived. The body is a JSON object.',
  body: { schema: Type.Object({}) },
  answers: asItStands(OneOwn),
  errors: ['order_not_found', 'order_state_conflict'],
};

const QR_SVG: RouteDeclaration = {
  ...COMMON,
  ...picture('image/svg+xml'),
  method: 'GET',
  path: '/api/agent/payment/:code/qr.svg',
  params: CODE,
  endpoint: 'paymentQrSvg',
  summary: 'QR code as SVG',
  description: 'The QR code of an order that waits for payment, as SVG.',
};

const QR_PNG: RouteDeclaration = {
  ...COMMON,
  ...picture('image/png'),
  method: 'GET',
  path: '/api/agent/payment/:code/qr.png',
  params: CODE,
  endpoint: 'paymentQrPng',
  summary: 'QR code as PNG',
  description: 'The QR code of an order that waits for payment, as PNG.',
};

/** Orders of the signed-in user. */
export function paymentRoutes({ payments, site, sessions, bodies, polls, clock, siblings }: PaymentServices): Route[] {
  const { support } = payments;
  const limit = { name: 'orders', perMinute: ORDERS_PER_MINUTE, what: 'Too many orders' };
  const made = new AddressLimit({ ...limit, clock, siblings });

  async function order(context: RequestContext): Promise<void> {
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
  }

  async function begin(context: RequestContext) {
    const { user } = await sessions.require(context);
    polls.admit(user.id);
    return user;
  }

  async function findOwn(context: ParamsContext): Promise<OrderRecord> {
    return payments.find(await begin(context), paramOf(context, 'code'));
  }

  async function encode(order: OrderRecord) {
    const transfer = payments.transferOf(order);
    const svg = transfer && (await drawSvg(transfer.qr.payload));
    const preview = await payments.preview(order);
    return encodePayment({ order, transfer, svg, preview, siteUrl: site().url, support });
  }

  async function list(context: RequestContext): Promise<void> {
    const user = await begin(context);
    sendJson(context, { payments: await Promise.all((await payments.list(user)).map(encode)) }, 'private');
  }

  async function get(context: ParamsContext): Promise<void> {
    sendJson(context, { payment: await encode(await findOwn(context)) }, 'private');
  }

  async function cancel(context: ParamsContext): Promise<void> {
    const user = await begin(context);
    // A form of another site cannot have this content type, with any origin that the browser sends.
    const limits = { maxBytes: MAX_PAYMENT_BODY_BYTES, budget: bodies, owner: user.accountId };
    await readJsonBody(context.req, context.res, limits);
    context.body = { payment: await encode(await payments.cancel(user, paramOf(context, 'code'))) };
  }

  async function sendSvg(context: ParamsContext): Promise<void> {
    const payload = payloadOf(payments, await findOwn(context));
    setPicture(context, 'image/svg+xml');
    context.body = await drawSvg(payload);
  }

  async function sendPng(context: ParamsContext): Promise<void> {
    const payload = payloadOf(payments, await findOwn(context));
    setPicture(context, 'image/png');
    context.body = Buffer.from(await drawPng(payload));
  }

  return [
    { ...ORDER, handler: order },
    { ...LIST, handler: list },
    { ...GET, handler: get },
    { ...CANCEL, handler: cancel },
    { ...QR_SVG, handler: sendSvg },
    { ...QR_PNG, handler: sendPng },
  ];
}

/** What the QR code of an order says. @throws GatewayError `order_state_conflict` if there is nothing to pay. */
function payloadOf(payments: PaymentService, order: OrderRecord): string {
  const transfer = payments.transferOf(order);
  if (transfer) return transfer.qr.payload;
  throw new GatewayError('order_state_conflict', `There is nothing to pay: this order is ${order.state}.`);
}

/** No caching: its content may change or disappear. */
function setPicture(context: RequestContext, type: string): void {
  context.set('Content-Type', type);
  context.set('Cache-Control', 'private, no-store');
}

/** Limit of requests per address: far more than pages send, far fewer than guessing a code needs. */
const POLLS_PER_MINUTE = 600;
const POLL_EVERY_MS = 1_000;
const WAITING = { permits: 500, permitsEach: 100 };
const RETRY_SECONDS = 5;

/** The public status of an order, for clients with its code. */
export function paymentStatusRoutes({ payments, clock, siblings, addressOf, drain }: PaymentServices): Route[] {
  const polls = new AddressLimit({
    clock,
    siblings,
    name: 'order polls',
    perMinute: POLLS_PER_MINUTE,
    what: 'Too many order status requests',
  });
  const waiting = new Semaphore(WAITING);

  async function sendStatus(context: RequestContext): Promise<void> {
    const { req: request, res: response, query } = context;
    const address = addressOf(request);
    polls.admit(address);
    const waitMs = readWait(context) * 1_000;
    const { code } = query;
    if (code === undefined) {
      const message = 'code is missing: send the code of an order, as in ?code=MG7K3M9QXD.';
      throw new GatewayError('missing_required_parameter', message, { param: 'code' });
    }
    if (!isOrderCode(code)) throw new GatewayError('order_not_found', 'There is no such order.');
    let order = await payments.check(code);
    const leave = waitMs > 0 && isOpen(order) && !drain.aborted ? waiting.tryAcquire(address) : undefined;
    if (leave) {
      const signal = AbortSignal.any([clientSignal(response), drain]);
      order = await untilChanged(order, { waitMs, signal }).finally(leave);
    }
    if (isOpen(order)) context.set('Retry-After', String(RETRY_SECONDS));
    context.set('Cache-Control', 'no-store');
    context.body = { payment: encodePaymentStatus(order) };
  }

  /** Resolves when the order changes, the time is over, or the client has disconnected. */
  async function untilChanged(
    before: OrderRecord,
    { waitMs, signal }: { waitMs: number; signal: AbortSignal },
  ): Promise<OrderRecord> {
    const endsAt = clock.monotonic() + waitMs;
    for (;;) {
      const left = endsAt - clock.monotonic();
      if (left <= 0 || signal.aborted) return before;
      // The end of the wait is not an error.
      await clock.sleep(Math.min(left, POLL_EVERY_MS), signal).catch(() => undefined);
      const now = await payments.check(before.code);
      if (now.state !== before.state || now.paidAmount !== before.paidAmount) return now;
    }
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/payment/gateway',
      grant: 'none',
      endpoint: 'paymentStatus',
      tag: 'Payments',
      summary: 'Get the status of an order',
      description: 'Returns the status of the order `?code=`. `?wait=` waits for a change. No session is needed.',
      query: {
        code: {
          schema: Type.String({ examples: [CODE.code.example] }),
          description: 'Code of the order.',
          required: true,
        },
        wait: {
          schema: Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS }),
          description: 'Seconds to wait for a change.',
        },
      },
      answers: asItStands(One),
      errors: ['order_not_found', 'rate_limit_exceeded'],
      handler: sendStatus,
    }),
  ];
}
