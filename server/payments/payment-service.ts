/*
 * Orders of plans and of top-ups, paid by bank transfer. The amount always comes from the catalogue, never from the client. Without a
 * receiving account, payments are disabled and the error names the support. At the start, prices that the format of the
 * QR code cannot express are refused. An order is open for 24 hours; transfer details are shown only while money is
 * awaited, for the amount that remains. A loop expires orders every minute; all nodes may run it, and a failure is
 * retried in the next minute.
 */

import { GatewayError, type Logger, type PollLoop, startPollLoop } from '../../core/runtime/index.js';
import type {
  BalanceEligibility,
  BalanceState,
  Balances,
  PayAsYouGoOffer,
  PlanPreview,
  UserRecord,
} from '../accounts/index.js';
import type { Ledger, StatementLine } from '../ledger/index.js';
import {
  type CatalogueTerms,
  PlansFileError,
  type PlanTermsOptions,
  planTerms,
  type Support,
  type TopUpPackage,
  type TopUpTerms,
} from '../plans/index.js';
import type { Prices } from '../prices/index.js';
import { orderNotFound } from './order-changes.js';
import type { NewOrder, OrderRecord } from './order-records.js';
import type { Orders } from './orders.js';
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

export interface PaymentServiceOptions extends PlanTermsOptions {
  orders: Pick<Orders, 'create' | 'find' | 'list' | 'cancel' | 'preview'>;
  /** Default: no account may top up. */
  balances?: Pick<Balances, 'isEligible' | 'find'>;
  /** Default: no statements are read. */
  ledger?: Pick<Ledger, 'statement' | 'csv'>;
  /** Who may top up. Default `off`. */
  prepaidBalance?: BalanceEligibility;
  /** Default: none, and nothing can be paid from a balance. */
  prices?: Pick<Prices, 'currency' | 'hasLinkPrices' | 'rates'> | undefined;
  /** Default: payments are disabled. */
  receiver?: PaymentReceiver;
}

/** Orders of plans, paid by bank transfer. */
export class PaymentService {
  /** Address of the support, from the catalogue. */
  readonly support: Support;
  readonly #options: PaymentServiceOptions;
  readonly #orders: PaymentServiceOptions['orders'];
  readonly #receiver: PaymentReceiver | undefined;
  readonly #catalogue: PaymentServiceOptions['catalogue'];

  constructor(options: PaymentServiceOptions) {
    this.support = options.catalogue.support;
    this.#options = options;
    this.#orders = options.orders;
    this.#receiver = options.receiver;
    this.#catalogue = options.catalogue;
    if (options.receiver) checkPrices(options, options.receiver.format);
    checkTopUps(options);
  }

  /** Holder of the receiving account. Undefined if none is configured. */
  get seller(): string | undefined {
    return this.#receiver?.accountName;
  }

  /** Whether any plan can be ordered. */
  get acceptsOrders(): boolean {
    return this.#receiver !== undefined && this.#catalogue.prices.length > 0;
  }

  /** What the account of a user may top up; empty if it may not. */
  async topUpsFor({ accountId }: Pick<UserRecord, 'accountId'>): Promise<readonly TopUpPackage[]> {
    const { balances, prepaidBalance = 'off' } = this.#options;
    const { topUps = [] } = this.#catalogue;
    if (!balances || !this.#receiver || topUps.length === 0) return [];
    return (await balances.isEligible(accountId, prepaidBalance)) ? topUps : [];
  }

  /** What is offered beside plans; nothing without a receiving account. */
  get payAsYouGo(): PayAsYouGoOffer {
    const { prepaidBalance = 'off', prices } = this.#options;
    const topUps = this.#receiver && prepaidBalance !== 'off' ? (this.#catalogue.topUps ?? []) : [];
    const models = topUps[0]?.terms.models ?? null;
    const rates = (prices?.rates ?? []).filter(({ model }) => models === null || models.includes(model));
    return { isOpen: prepaidBalance === 'all', topUps, rates };
  }

  /** Undefined if the account has no prepaid balance. */
  async balanceOf({ accountId }: Pick<UserRecord, 'accountId'>): Promise<BalanceState | undefined> {
    return this.#options.balances?.find(accountId);
  }

  /** The latest movements of the balance, newest first. @param before Number of a movement: those before it. */
  async statement(
    { accountId }: Pick<UserRecord, 'accountId'>,
    limit: number,
    before?: number,
  ): Promise<readonly StatementLine[]> {
    const page = { accountId, limit, ...(before !== undefined && { before }) };
    return (await this.#options.ledger?.statement(page)) ?? [];
  }

  /** The whole statement as CSV, oldest first, in parts. */
  statementCsv({ accountId }: Pick<UserRecord, 'accountId'>): AsyncIterable<string> | readonly string[] {
    return this.#options.ledger?.csv(accountId) ?? [];
  }

  /**
   * At the current price of the catalogue.
   * @throws GatewayError `invalid_value` if there is no such plan or package, `price_not_configured`,
   *   `top_up_not_allowed`, `too_many_open_orders`, `idempotency_key_reused`, `account_suspended`.
   */
  async create({ user, planId, idempotency }: CreateOrderInput): Promise<{ order: OrderRecord; replayed: boolean }> {
    const price = (await this.#topUpOf(user, planId)) ?? this.#priceOf(planId);
    const who = { accountId: user.accountId, actor: `user:${user.id}` };
    return this.#orders.create({ ...price, ...who, lifetimeMs: LIFETIME_MS, ...(idempotency && { idempotency }) });
  }

  /** Newest first, at most `limit`. @param before Code of an order: those created before it. */
  page({ accountId }: UserRecord, limit: number, before?: string): Promise<readonly OrderRecord[]> {
    return this.#orders.list({ accountId, limit, ...(before !== undefined && { before }) });
  }

  /** Newest first, 100 at most. */
  list({ accountId }: UserRecord): Promise<readonly OrderRecord[]> {
    return this.#orders.list({ accountId, limit: LISTED });
  }

  /** @throws GatewayError `order_not_found`, also for orders of other accounts. */
  async find(user: UserRecord, code: string): Promise<OrderRecord> {
    const order = await this.#orders.find(code);
    if (order?.accountId !== user.accountId) throw orderNotFound();
    return order;
  }

  /** An order of any account, for clients with its code. @throws GatewayError `order_not_found`. */
  async check(code: string): Promise<OrderRecord> {
    const order = await this.#orders.find(code);
    if (!order) throw orderNotFound();
    return order;
  }

  /** @throws GatewayError `order_not_found`, `order_state_conflict` if money has arrived, or it has ended. */
  cancel({ id, accountId }: UserRecord, code: string): Promise<OrderRecord> {
    return this.#orders.cancel({ code, accountId, actor: `user:${id}` });
  }

  /** The account's plan if the open order is paid now. Undefined if no payment is awaited. */
  async preview(order: OrderRecord): Promise<PlanPreview | undefined> {
    return isOpen(order) ? this.#orders.preview(order.code) : undefined;
  }

  /** Undefined if nothing is to be paid, or no receiving account is configured any more. */
  transferOf(order: OrderRecord): PaymentTransfer | undefined {
    if (!this.#receiver || !isOpen(order) || order.currency !== PAYABLE[this.#receiver.format].currency)
      return undefined;
    const { code } = order;
    const amount = order.amount - order.paidAmount;
    const { format, ...account } = this.#receiver;
    const qr = { format, payload: payloadOf(this.#receiver, { code, amount }) };
    return { ...account, content: contentOf(this.#receiver, code), amount, qr };
  }

  /** Text of the transfer of an order. Undefined if it is the code itself, or another account received the money. */
  referenceOf({ code, currency }: OrderRecord): string | undefined {
    if (!this.#receiver || currency !== PAYABLE[this.#receiver.format].currency) return undefined;
    const content = contentOf(this.#receiver, code);
    return content === code ? undefined : content;
  }

  async #topUpOf(user: UserRecord, id: string): Promise<Priced<TopUpTerms> | undefined> {
    const topUp = this.#catalogue.topUps?.find(({ terms }) => terms.planId === id);
    if (!topUp) return undefined;
    const allowed = await this.topUpsFor(user);
    if (allowed.includes(topUp)) return { terms: topUp.terms, ...topUp.price };
    const why = this.#receiver ? 'This account may not top up a balance.' : 'Payments are not configured.';
    const code = this.#receiver ? 'top_up_not_allowed' : 'price_not_configured';
    throw new GatewayError(code, `${why} ${describeSupport(this.#catalogue.support)}`, { param: 'planId' });
  }

  #priceOf(planId: string): Priced<CatalogueTerms> {
    const terms = planId === this.#catalogue.freeTier.id ? undefined : planTerms(planId, this.#options);
    if (!terms) {
      const topUps = this.#catalogue.topUps?.map((topUp) => topUp.terms.planId) ?? [];
      const ids = [...this.#catalogue.plans.map(({ id }) => id), ...topUps].join(', ');
      throw new GatewayError('invalid_value', `planId must be one of ${ids}.`, { param: 'planId' });
    }
    const price = this.#catalogue.prices.find((one) => one.planId === planId);
    if (price && this.#receiver) return { terms, amount: price.amount, currency: price.currency };
    const why = price ? 'Payments are not configured.' : 'This plan has no price.';
    throw new GatewayError('price_not_configured', `${why} ${describeSupport(this.#catalogue.support)}`);
  }
}

/** Whether a payment is still awaited. */
export function isOpen({ state }: Pick<OrderRecord, 'state'>): boolean {
  return state === 'pending' || state === 'underpaid';
}

interface Priced<Terms> {
  terms: Terms;
  /** In minor units of the currency. */
  amount: number;
  currency: string;
}

function checkPrices({ catalogue }: PlanTermsOptions, format: PaymentFormat): void {
  const { currency, max } = PAYABLE[format];
  const topUps = catalogue.topUps?.map(({ terms, price }) => ({ planId: terms.planId, ...price })) ?? [];
  for (const price of [...catalogue.prices, ...topUps]) {
    if (price.currency === currency && price.amount <= max) continue;
    const accepted = `from 1 to ${max} minor units of ${currency}, as PAYMENT_FORMAT ${format} has it`;
    throw new PlansFileError(`PLANS_FILE: the price of ${price.planId} must be ${accepted}.`);
  }
}

/** What is paid from a balance must have a price: without one it would be free. */
function checkTopUps({ catalogue, prices }: PaymentServiceOptions): void {
  for (const { terms } of catalogue.topUps ?? []) {
    const { planId, currency, grants } = terms;
    if (!prices) throw new PlansFileError(`PLANS_FILE: the package ${planId} needs PRICES_FILE.`);
    if (currency !== prices.currency) {
      const advice = `must be in ${prices.currency}, the currency of the prices. Set its "credit".`;
      throw new PlansFileError(`PLANS_FILE: the credit of the package ${planId} ${advice}`);
    }
    if (!grants.includes('extract') || prices.hasLinkPrices) continue;
    throw new PlansFileError('PLANS_FILE: payAsYouGo.grants has extract, and no link has a price in PRICES_FILE.');
  }
}

function describeSupport({ text, email, url }: Support): string {
  const where = [email, url].filter((one) => one !== null).join(', ');
  return where === '' ? text : `${text} (${where})`;
}

const SWEEP_MS = 60_000;

/** Expires orders, and deletes those that ended long ago, at the start and every minute. All nodes may do it. */
export function startPaymentSweep(orders: Pick<Orders, 'sweep'>, logger: Logger): PollLoop {
  return startPollLoop({
    intervalMs: SWEEP_MS,
    work: async () => void (await orders.sweep()),
    report: (error) => logger.warn('orders could not be expired; retried in a minute', { error }),
  });
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
  if (text === '') return {};
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
