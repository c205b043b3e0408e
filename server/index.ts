/**
 * The HTTP server, for those who embed it: `openServer` opens all of it as settings say, `createApp` gives a Koa app over a
 * gateway and a state of their own.
 */
export { type AccountOverview, type AccountView, createAccountView } from './account/account-overview.js';
export { type Endpoint, GATEWAY_ENDPOINTS, SITE_ENDPOINTS } from './account/endpoints.js';
export { createIdentity, type Identity, type SignInStatus } from './account/identity.js';
export { createKeyDesk, type KeyDesk, type KeyDeskOptions, MAX_KEYS } from './account/key-desk.js';
export {
  createPaymentDesk,
  type PaymentDesk,
  type PaymentDeskOptions,
  type PaymentTransfer,
} from './account/payment-desk.js';
export { type PaymentReceiver, readReceiver } from './account/payment-receiver.js';
export type { AccountDependencies } from './account/routes.js';
export { createSiteAddress, type SiteAddress } from './account/site-address.js';
export { type AnswerDesk, type AnswerDeskOptions, createAnswerDesk } from './answer-desk.js';
export { type AppDependencies, createApp, createMetricsApp, createRouter } from './app.js';
export { type Catalogue, DEFAULT_CATALOGUE, type FreeTier, MODEL_NOTES, type Plan } from './catalogue.js';
export { createHealth, type Health, type HealthOptions } from './health.js';
export { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.js';
export { type KeyTable, type KeyTableOptions, openKeyTable } from './key-table.js';
export { createKeyRecord, createPepper, type NewKey, type Pepper } from './keys.js';
export {
  createMetrics,
  type FinishedRequest,
  type MetricSources,
  type Metrics,
  type MetricsOptions,
} from './metrics.js';
export { type OpenServer, type OpenServerOptions, openServer } from './open-server.js';
export { type PlanKey, type PlanKeyOptions, planKey } from './plan-key.js';
export { type FreeTierPeriod, type PlanTermsOptions, planTerms } from './plan-terms.js';
export { PlansFileError, readCatalogue } from './plans-file.js';
export { PLUGIN_SETTING_DESCRIPTIONS } from './plugin-settings.js';
export {
  readSettings,
  SETTING_DESCRIPTIONS,
  type SettingDescription,
  type Settings,
  SettingsError,
} from './settings.js';
export { createUsageDesk, type UsageDesk, type UsageDeskOptions } from './usage.js';
export {
  startWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
} from './webhooks/delivery.js';
export type { WebhookDesk } from './webhooks/open.js';
export { createWebhookSecrets, type WebhookSecrets } from './webhooks/secrets.js';
export { createWebhookTargets, type WebhookTargets } from './webhooks/targets.js';
export { ERROR_CLASSES, type ErrorClass, MODEL_ERROR_CLASSES } from './wire/errors.js';
