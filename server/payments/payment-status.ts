import type Router from '@koa/router';
import { type Clock, GatewayError } from 'mediagate';
import type { AddressOf, RequestContext, RequestState } from '../http/index.js';
import { clientSignal, createAddressLimit, createWaitingRoom, readWait } from '../http/index.js';
import type { OrderRecord } from './orders.js';
import { encodePaymentStatus, isOrderCode } from './payment.js';
import { isOpen, type PaymentDesk } from './payment-desk.js';

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
