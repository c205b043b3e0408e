import type Router from '@koa/router';
import { type Clock, GatewayError, isGatewayError, type Logger } from 'mediagate';
import type { AddressOf, ParamsContext, RequestState } from '../http/index.js';
import { type BodyBudget, createAuthFailures, networkOwner, takeJsonBody } from '../http/index.js';
import type { KeyTable } from '../keys/index.js';
import type { Orders } from './orders.js';
import type { NoticedTransfer, NoticeReader, PaymentNotice } from './payment-notice.js';
import { readGenericNotice } from './payment-notice-generic.js';
import { readPayosNotice } from './payment-notice-payos.js';
import { readSepayNotice } from './payment-notice-sepay.js';
import type { PaymentProvider, PaymentSecrets } from './payment-secrets.js';

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
