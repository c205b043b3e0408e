/**
 * The HTTP server, for those who embed it: `openServer` opens all of it as settings say, `createApp` gives a Koa app over a
 * gateway and a state of their own.
 */

export {
  type AccountOverview,
  type AccountView,
  createAccountView,
  createIdentity,
  createKeyDesk,
  type Identity,
  type KeyDesk,
  type KeyDeskOptions,
  MAX_KEYS,
  type SignInStatus,
} from './accounts/index.js';
export { createApp, createMetricsApp } from './app.js';
export {
  createHttpServer,
  createSiteAddress,
  ERROR_CLASSES,
  type ErrorClass,
  type HttpServer,
  type HttpServerOptions,
  MODEL_ERROR_CLASSES,
  type SiteAddress,
} from './http/index.js';
export { type AnswerDesk, type AnswerDeskOptions, createAnswerDesk } from './idempotency/index.js';
export {
  createKeyRecord,
  createPepper,
  type KeyTable,
  type KeyTableOptions,
  type NewKey,
  openKeyTable,
  type Pepper,
} from './keys/index.js';
export {
  createHealth,
  createMetrics,
  type FinishedRequest,
  type Health,
  type HealthOptions,
  type MetricSources,
  type Metrics,
  type MetricsOptions,
} from './observability/index.js';
export { type OpenServer, type OpenServerOptions, openServer } from './open-server.js';
export {
  createPaymentDesk,
  type PaymentDesk,
  type PaymentDeskOptions,
  type PaymentReceiver,
  type PaymentTransfer,
  readReceiver,
} from './payments/index.js';
export {
  type Catalogue,
  DEFAULT_CATALOGUE,
  type FreeTier,
  type FreeTierPeriod,
  MODEL_NOTES,
  type Plan,
  type PlanKey,
  type PlanKeyOptions,
  PlansFileError,
  type PlanTermsOptions,
  planKey,
  planTerms,
  readCatalogue,
} from './plans/index.js';
export type { AccountDependencies, AppDependencies } from './server-context.js';
export {
  PLUGIN_SETTING_DESCRIPTIONS,
  readSettings,
  SETTING_DESCRIPTIONS,
  type SettingDescription,
  type Settings,
  SettingsError,
} from './settings/index.js';
export {
  openRecords,
  openState,
  type Records,
  type State,
  type StateSettings,
} from './state.js';
export {
  createUsageDesk,
  type JobRequestTerms,
  toJobTerms,
  type UsageDesk,
  type UsageDeskOptions,
} from './usage/index.js';
export type { WebhookDesk } from './webhooks/index.js';
export {
  createWebhookSecrets,
  createWebhookTargets,
  startWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
  type WebhookSecrets,
  type WebhookTargets,
} from './webhooks/index.js';
