/**
 * The HTTP server, for those who embed it: `openServer` opens all of it as settings say, `createApp` gives a Koa app over a
 * gateway and a state of their own.
 */

export type { AccountDependencies } from './account-routes.js';
export { type AccountOverview, type AccountView, createAccountView } from './accounts/account-overview.js';
export { type Endpoint, GATEWAY_ENDPOINTS, SITE_ENDPOINTS } from './accounts/endpoints.js';
export { createIdentity, type Identity, type SignInStatus } from './accounts/identity.js';
export { createKeyDesk, type KeyDesk, type KeyDeskOptions, MAX_KEYS } from './accounts/key-desk.js';
export { type AppDependencies, createApp, createMetricsApp, createRouter } from './app.js';
export { ERROR_CLASSES, type ErrorClass, MODEL_ERROR_CLASSES } from './http/error-format.js';
export { createHttpServer, type HttpServer, type HttpServerOptions } from './http/http-server.js';
export { createSiteAddress, type SiteAddress } from './http/site-address.js';
export { type AnswerDesk, type AnswerDeskOptions, createAnswerDesk } from './idempotency/answer-desk.js';
export { type KeyTable, type KeyTableOptions, openKeyTable } from './keys/key-table.js';
export { createKeyRecord, createPepper, type NewKey, type Pepper } from './keys/keys.js';
export { createHealth, type Health, type HealthOptions } from './observability/health.js';
export {
  createMetrics,
  type FinishedRequest,
  type MetricSources,
  type Metrics,
  type MetricsOptions,
} from './observability/metrics.js';
export { type OpenServer, type OpenServerOptions, openServer } from './open-server.js';
export {
  createPaymentDesk,
  type PaymentDesk,
  type PaymentDeskOptions,
  type PaymentTransfer,
} from './payments/payment-desk.js';
export { type PaymentReceiver, readReceiver } from './payments/payment-receiver.js';
export { type Catalogue, DEFAULT_CATALOGUE, type FreeTier, MODEL_NOTES, type Plan } from './plans/catalogue.js';
export { type PlanKey, type PlanKeyOptions, planKey } from './plans/plan-key.js';
export { type FreeTierPeriod, type PlanTermsOptions, planTerms } from './plans/plan-terms.js';
export { PlansFileError, readCatalogue } from './plans/plans-file.js';
export { PLUGIN_SETTING_DESCRIPTIONS } from './settings/plugin-settings.js';
export {
  readSettings,
  SETTING_DESCRIPTIONS,
  type SettingDescription,
  type Settings,
  SettingsError,
} from './settings/settings.js';
export { createUsageDesk, type UsageDesk, type UsageDeskOptions } from './usage/usage.js';
export {
  startWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
} from './webhooks/delivery.js';
export type { WebhookDesk } from './webhooks/open.js';
export { createWebhookSecrets, type WebhookSecrets } from './webhooks/secrets.js';
export { createWebhookTargets, type WebhookTargets } from './webhooks/targets.js';
