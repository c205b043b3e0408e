import type { Registry } from 'prom-client';
import type { WebhookOutcome } from '../webhooks/index.js';
import type { AddLookedUp } from './metrics-figures.js';
import type { MetricSources } from './metrics-sources.js';

export interface WebhookFigures {
  webhookTried(outcome: WebhookOutcome): void;
}

/** Figures of webhooks: what waits over all processes, and what came of the tries of this one. */
export function createWebhookFigures(
  { Counter }: typeof import('prom-client'),
  registry: Registry,
  add: AddLookedUp,
  sources: MetricSources,
): WebhookFigures {
  add({
    name: 'mediagate_webhooks_waiting',
    help: 'Webhooks of jobs that have ended that are neither delivered nor given up, over all processes.',
    labelNames: [],
    look: async () => sources.webhooks && [[{}, await sources.webhooks.waiting()]],
  });
  const tries = new Counter({
    name: 'mediagate_webhook_tries_total',
    help: 'Tries to deliver a webhook here, by outcome: delivered, postponed (tried again), gone (410), given_up.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return { webhookTried: (outcome) => tries.inc({ outcome }) };
}
