/*
 * Orders of plans, paid by bank transfer. The amount always comes from the catalogue, never from the client. Without a
 * receiving account, payments are disabled and the error names the support. At the start, prices that the format of the
 * QR code cannot express are refused. An order is open for 24 hours; transfer details are shown only while money is
 * awaited, for the amount that remains. A loop expires orders every minute; all nodes may run it, and a failure is
 * retried in the next minute.
 */

import { type Clock, GatewayError, type Logger } from '../../core/runtime/index.js';
import type { PlanPreview, UserRecord } from '../accounts/index.js';
import { type CatalogueTerms, PlansFileError, type PlanTermsOptions, planTerms, type Support } from '../plans/index.js';
import type { NewOrder, OrderRecord, Orders } from './order-records.js';
import { contentOf, PAYABLE, type PaymentFormat, type PaymentReceiver, payloadOf } from './transfer-qr.js';

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const LISTED = 100;

/** Payment instructions of an open order. */
export interface PaymentTransfer {
  bankName: string;
  /** BIN, or BIC; null if the format needs none. */
  bankBin: string | null;
  accountNumber: string;
  accountName: string;
  /** Text for the transfer. */
  content: string;
  /** Remaining amount in minor units of the order's currency. */
  amount: number;
  qr: { format: PaymentFormat; payload: string };
}

export interface CreateOrderInput {
  user: UserRecord;
  planId: string;
  idempotency?: NewOrder['idempotency'];
}

/** Orders of plans, paid by bank transfer. */
export interface PaymentService {
  readonly support: Support;
  /**
   * At the current price of the catalogue.
   * @throws GatewayError `invalid_value` if there is no such plan, `price_not_configured`, `too_many_open_orders`,
   *   `idempotency_key_reused`, `account_suspended`.
   */
  create(input: CreateOrderInput): Promise<{ order: OrderRecord; replayed: boolean }>;
  /** Newest first, 100 at most. */
  list(user: UserRecord): Promise<readonly OrderRecord[]>;
  /** @throws GatewayError `order_not_found`, also for orders of other accounts. */
  find(user: UserRecord, code: string): Promise<OrderRecord>;
  /** An order of any account, for clients with its code. @throws GatewayError `order_not_found`. */
  check(code: string): Promise<OrderRecord>;
  /** @throws GatewayError `order_not_found`, `order_state_conflict` if money has arrived, or it has ended. */
  cancel(user: UserRecord, code: string): Promise<OrderRecord>;
  /** Undefined if nothing is to be paid, or no receiving account is configured any more. */
  transferOf(order: OrderRecord): PaymentTransfer | undefined;
  /** The account's plan if the open order is paid now. Undefined if no payment is awaited. */
  preview(order: OrderRecord): Promise<PlanPreview | undefined>;
}

export interface PaymentServiceOptions extends PlanTermsOptions {
  orders: Pick<Orders, 'create' | 'find' | 'list' | 'cancel' | 'preview'>;
  /** Default: payments are disabled. */
  receiver?: PaymentReceiver;
}

/** @throws PlansFileError for a price that the receiver's format cannot express. */
export function createPaymentService(options: PaymentServiceOptions): PaymentService {
  const { orders, receiver, catalogue } = options;
  if (receiver) checkPrices(options, receiver.format);

  function priceOf(planId: string): { terms: CatalogueTerms; amount: number; currency: string } {
    const terms = planId === catalogue.freeTier.id ? undefined : planTerms(planId, options);
    if (!terms) {
      const ids = catalogue.plans.map(({ id }) => id).join(', ');
      throw new GatewayError('invalid_value', `planId must be one of ${ids}.`, { param: 'planId' });
    }
    const price = catalogue.prices.find((one) => one.planId === planId);
    if (price && receiver) return { terms, amount: price.amount, currency: price.currency };
    const why = price ? 'Payments are not configured.' : 'This plan has no price.';
    throw new GatewayError('price_not_configured', `${why} ${describeSupport(catalogue.support)}`);
  }

  async function find(user: UserRecord, code: string): Promise<OrderRecord> {
    const order = await orders.find(code);
    if (order?.accountId !== user.accountId) throw notFound();
    return order;
  }

  return {
    support: catalogue.support,
    async create({ user, planId, idempotency }) {
      const price = priceOf(planId);
      const who = { accountId: user.accountId, actor: `user:${user.id}` };
      return orders.create({ ...price, ...who, lifetimeMs: LIFETIME_MS, ...(idempotency && { idempotency }) });
    },
    list: ({ accountId }) => orders.list({ accountId, limit: LISTED }),
    find,
    async check(code) {
      const order = await orders.find(code);
      if (!order) throw notFound();
      return order;
    },
    cancel: ({ id, accountId }, code) => orders.cancel({ code, accountId, actor: `user:${id}` }),
    preview: async (order) => (isOpen(order) ? orders.preview(order.code) : undefined),
    transferOf(order) {
      if (!receiver || !isOpen(order) || order.currency !== PAYABLE[receiver.format].currency) return undefined;
      const { code } = order;
      const amount = order.amount - order.paidAmount;
      const { format, ...account } = receiver;
      const qr = { format, payload: payloadOf(receiver, { code, amount }) };
      return { ...account, content: contentOf(receiver, code), amount, qr };
    },
  };
}

/** Whether a payment is still awaited. */
export function isOpen({ state }: Pick<OrderRecord, 'state'>): boolean {
  return state === 'pending' || state === 'underpaid';
}

function checkPrices({ catalogue }: PlanTermsOptions, format: PaymentFormat): void {
  const { currency, max } = PAYABLE[format];
  for (const price of catalogue.prices) {
    if (price.currency === currency && price.amount <= max) continue;
    const accepted = `from 1 to ${max} minor units of ${currency}, as PAYMENT_FORMAT ${format} has it`;
    throw new PlansFileError(`PLANS_FILE: the price of ${price.planId} must be ${accepted}.`);
  }
}

function describeSupport({ text, email, url }: Support): string {
  const where = [email, url].filter((one) => one !== null).join(', ');
  return where === '' ? text : `${text} (${where})`;
}

function notFound(): GatewayError {
  return new GatewayError('order_not_found', 'There is no such order.');
}

const SWEEP_MS = 60_000;

export interface PaymentSweepOptions {
  orders: Pick<Orders, 'sweep'>;
  clock: Clock;
  logger: Logger;
}

export interface PaymentSweep {
  /** Waits for running work. */
  close(): Promise<void>;
}

/** Every minute expires orders, and deletes those that ended long ago. All nodes may do it. */
export function startPaymentSweep({ orders, clock, logger }: PaymentSweepOptions): PaymentSweep {
  const closing = new AbortController();

  async function sweep(): Promise<void> {
    try {
      await orders.sweep();
    } catch (error) {
      logger.warn('orders could not be expired; retried in a minute', { error });
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      // It only fails at closing.
      const isDue = await clock.sleep(SWEEP_MS, closing.signal).then(
        () => true,
        () => false,
      );
      if (isDue) await sweep();
    }
  }

  const ended = run();
  return {
    close() {
      closing.abort();
      return ended;
    },
  };
}

/** Supported webhook senders. */
const PAYMENT_PROVIDERS = ['generic', 'payos', 'sepay'] as const;

export type PaymentProvider = (typeof PAYMENT_PROVIDERS)[number];

/** The shared secret of each configured sender. */
export type PaymentSecrets = Readonly<Partial<Record<PaymentProvider, string>>>;

const MIN_LENGTH = 32;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Reads `payos:SECRET,sepay:SECRET`. @throws Error naming the accepted form. */
export function readPaymentSecrets(text: string): PaymentSecrets {
  const secrets = new Map<PaymentProvider, string>();
  for (const part of text.split(',')) {
    const [name = '', ...rest] = part.trim().split(':');
    const provider = PAYMENT_PROVIDERS.find((one) => one === name);
    const secret = rest.join(':');
    if (!provider || secrets.has(provider) || secret.length < MIN_LENGTH || !VISIBLE.test(secret)) {
      throw new Error(
        `${PAYMENT_PROVIDERS.join(':SECRET, ')}:SECRET, or some of them: each once, each secret of ${MIN_LENGTH} characters or more`,
      );
    }
    secrets.set(provider, secret);
  }
  return Object.fromEntries(secrets);
}
