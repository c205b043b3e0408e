/*
 * Webhooks of jobs and budgets: events, delivery, secrets and routes. Other folders import these from here.
 */

export { ALERT_SIGNER, openBudgetAlerts, startAlertDelivery } from './budget-alerts.js';
export {
  PAUSES_MS,
  postSigned,
  startWebhookDelivery,
  TRY_MS,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
} from './delivery.js';
export { webhookPersonalRecords } from './personal-records.js';
export { Webhooks, webhookMigrations } from './webhook-events.js';
export {
  openWebhooks,
  SENT_WEBHOOKS,
  WebhookSecrets,
  type WebhookService,
  WebhookTargets,
  webhookRoutes,
} from './webhooks.js';
