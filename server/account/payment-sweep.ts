import type { Logger, Orders } from 'mediagate';

const SWEEP_MS = 60_000;

export interface PaymentSweep {
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Writes down that orders have expired, and forgets those that were over long ago. Nodes may do it at the same time. */
export function startPaymentSweep({ orders, logger }: { orders: Pick<Orders, 'sweep'>; logger: Logger }): PaymentSweep {
  let current: Promise<void> | undefined;
  const timer = setInterval(() => {
    current ??= sweep().finally(() => {
      current = undefined;
    });
  }, SWEEP_MS).unref();

  async function sweep(): Promise<void> {
    try {
      await orders.sweep();
    } catch (error) {
      logger.warn('orders could not be swept; they are in a minute', { error });
    }
  }

  return {
    async close() {
      clearInterval(timer);
      await current;
    },
  };
}
