export {
  startWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
} from './delivery.js';
export { openWebhooks, type WebhookDesk } from './open.js';
export { createWebhookSecrets, type WebhookSecrets } from './secrets.js';
export { createWebhookTargets, type WebhookTargets } from './targets.js';
export type { Webhooks } from './webhook-events.js';
export { createWebhooks } from './webhook-events.js';
export { addWebhookRoutes } from './webhooks.js';
