export {
  startWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
} from './delivery.js';
export type { Webhooks } from './webhook-events.js';
export { createWebhooks } from './webhook-events.js';
export {
  addWebhookRoutes,
  createWebhookSecrets,
  createWebhookTargets,
  openWebhooks,
  type WebhookDesk,
  type WebhookSecrets,
  type WebhookTargets,
} from './webhooks.js';
