import type { Clock, Logger } from 'mediagate';
import type { Orders } from './orders.js';

const SWEEP_MS = 60_000;

export interface PaymentSweepOptions {
  orders: Pick<Orders, 'sweep'>;
  clock: Clock;
  logger: Logger;
}

export interface PaymentSweep {
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Each minute writes down which orders have expired, and forgets those that were over long ago. All nodes may do it. */
export function startPaymentSweep({ orders, clock, logger }: PaymentSweepOptions): PaymentSweep {
  const closing = new AbortController();

  async function sweep(): Promise<void> {
    try {
      await orders.sweep();
    } catch (error) {
      logger.warn('orders could not be swept; the next minute tries again', { error });
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      // Closing is the only way it fails.
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
