import type { Registry } from 'prom-client';
import type { WebhookOutcome } from './webhooks/delivery.js';

export interface WebhookFigures {
  webhookTried(outcome: WebhookOutcome): void;
}

/** Figures of webhooks: what came of the tries of this process. */
export function createWebhookFigures(
  { Counter }: typeof import('prom-client'),
  registry: Registry,
): WebhookFigures {
  const tries = new Counter({
    name: 'mediagate_webhook_tries_total',
    help: 'Tries to deliver a webhook here, by outcome: delivered, postponed (tried again), gone (410), given_up.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return { webhookTried: (outcome) => tries.inc({ outcome }) };
}
