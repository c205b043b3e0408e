/*
 * The route that takes webhooks of banks and payment services. A 2xx means that the transfer is stored, for any
 * purpose; any other status means that it must be sent again. Wrong signatures from one address are limited.
 */

import { field, Type } from '../../core/contracts/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { type AccountServices, asItStands } from '../accounts/index.js';
import {
  AddressLimit,
  defineRoute,
  networkOwner,
  type ParamsContext,
  type Route,
  takeJsonBody,
} from '../http/index.js';
import { type KeyTable } from '../keys/index.js';
import {
  type NoticedTransfer,
  type NoticeReader,
  type PaymentNotice,
  readGenericNotice,
  readPayosNotice,
  readSepayNotice,
} from './bank-webhooks.js';
import type { Orders } from './orders.js';
import { type PaymentProvider, type PaymentSecrets } from './payment-service.js';

const MAX_BODY_BYTES = 65_536;

/**
 * Failed signatures per address and minute. A bank with the right secret is not affected, although others may send from
 * its address: through the same proxy, or as customers of the same payment service.
 */
const WRONG_SIGNATURES = 60;

const READERS: Readonly<Record<PaymentProvider, NoticeReader>> = {
  generic: readGenericNotice,
  payos: readPayosNotice,
  sepay: readSepayNotice,
};

interface BankWebhookServices extends AccountServices {
  orders: Pick<Orders, 'record'>;
  keys: Pick<KeyTable, 'refresh'>;
  /** Names of the configured webhook senders. */
  paymentSecrets: PaymentSecrets;
}

/**
 * Webhooks of banks and payment services. A 2xx means that the transfer is stored, for any purpose: one without a
 * matching order waits for an operator. Any other status means that it must be sent again.
 */
export function paymentWebhookRoutes(services: BankWebhookServices): Route[] {
  const { orders, paymentSecrets: secrets, keys, publicBodies, clock, siblings, logger, addressOf } = services;
  const failures = new AddressLimit({
    clock,
    siblings,
    name: 'wrong signatures',
    perMinute: WRONG_SIGNATURES,
    what: 'Too many wrong signatures',
  });

  async function takeNotice(context: ParamsContext): Promise<void> {
    const { req: request, res: response, params } = context;
    const provider = (Object.keys(READERS) as PaymentProvider[]).find((name) => name === params.provider);
    const secret = provider && secrets[provider];
    if (!secret) throw new GatewayError('route_not_found', 'No secret is configured for this payment provider.');
    const address = addressOf(request);
    const limits = { maxBytes: MAX_BODY_BYTES, budget: publicBodies, owner: networkOwner(address) };
    const { bytes, value: body, release } = await takeJsonBody(request, response, limits);
    release();
    const notice = { headers: request.headers, bytes, body, secret, now: clock.now() };
    const transfer = read(provider, notice, address);
    if (transfer) await record(provider, transfer);
    context.body = { success: true };
  }

  function read(provider: PaymentProvider, notice: PaymentNotice, address: string): NoticedTransfer | undefined {
    try {
      return READERS[provider](notice);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      const isForged = error.code === 'invalid_signature';
      if (isForged) {
        failures.check(address, error);
        failures.add(address);
      }
      logger.warn('a bank-transfer webhook was refused', { id: provider, code: error.code, member: error.param });
      throw error;
    }
  }

  async function record(provider: PaymentProvider, transfer: NoticedTransfer): Promise<void> {
    const { transaction, order, replayed } = await orders.record({ ...transfer, provider });
    const { id, review } = transaction;
    // The purchase is effective on this node from this answer on; other nodes follow within seconds.
    if (order?.state === 'paid') await keys.refresh();
    if (replayed) logger.info('a transfer was reported again', { id: `${provider}:${id}` });
    else if (review) logger.warn('a transfer waits for an operator', { id: `${provider}:${id}`, code: review });
    else logger.info('a transfer was counted', { id: order?.code });
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/payment/webhook/:provider',
      params: { provider: { description: 'Format of the webhook: `generic`, `payos` or `sepay`.' } },
      grant: 'signature',
      tag: 'Payments',
      summary: 'Bank-transfer webhook',
      description: 'Receives the bank transfers that a bank or payment service reports.',
      body: { schema: Type.Object({}) },
      answers: asItStands(Type.Object({ success: field(Type.Literal(true), 'The transfer is stored.') })),
      handler: takeNotice,
    }),
  ];
}
