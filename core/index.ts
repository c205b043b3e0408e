/// <reference types="node" preserve="true" />
import 'reflect-metadata';

export * from './contracts/index.js';
export { type Static, type TObject, type TSchema, Type } from './contracts/typebox.js';
export type * from './database/instances.js';
export { type FactsOverride, overrideFacts } from './extraction/facts.js';
export * from './extraction/ladder.js';
export * from './extraction/merge.js';
export type * from './extraction/requests.js';
export { parseLinkText } from './extraction/scraping/link-text.js';
export * from './extraction/scraping/scraping.js';
export { type ShortLinkWalk, walkShortLink } from './extraction/short-link.js';
export * from './gateway.js';
export { openHttpClient } from './gateway-services.js';
export { removeInputImages } from './images/reference-files.js';
export type * from './jobs/admission.js';
export type * from './jobs/job-administration.js';
export type * from './jobs/jobs.js';
export { openSound, soundFormat } from './media/sound-stream.js';
export { createAddressGuard } from './net/address-guard.js';
export {
  createFailOver,
  type FailOver,
  type FailOverCall,
  type FailOverOptions,
  type TryConsequence,
  TryFailure,
} from './net/fail-over.js';
export { neverSent } from './net/http-failure.js';
export { isLoopbackHost } from './net/loopback-host.js';
export { encodeForm, type FilePart, type Form } from './net/multipart-form.js';
export * from './net/upstream-failures.js';
export * from './net/upstream-refusal.js';
export { createLogger, type LoggerOptions, type LogLevel, type RootLogger } from './observability/logger.js';
export { leaveScope, runInScope, type WorkScope } from './observability/work-scope.js';
export { definePlugin } from './plugins/define-plugin.js';
export { PluginConfigError, readPluginConfig } from './plugins/plugin-config.js';
export { systemClock } from './runtime/clock.js';
export * from './runtime/errors.js';
export { nearestName } from './runtime/near-names.js';
export { type Placed, PlacedList } from './runtime/placed-list.js';
export { drawRandomBytes } from './runtime/random-bytes.js';
export { type Checked, createValidator, type Issue, type Validator } from './runtime/validation.js';
export type * from './state/accounts/account-state.js';
export type * from './state/accounts/accounts.js';
export { FREE_PLAN_ID } from './state/accounts/accounts.js';
export type * from './state/accounts/device-grants.js';
export { keyAt } from './state/accounts/plan-following.js';
export type * from './state/accounts/sessions.js';
export type * from './state/accounts/sign-ins.js';
export type * from './state/accounts/users.js';
export type * from './state/audit/audit.js';
export * from './state/backup/upkeep.js';
export type { Idempotency } from './state/idempotency/idempotency-keys.js';
export * from './state/idempotency/kept-answers.js';
export {
  type Files,
  openFiles,
  openRecords,
  openState,
  type Records,
  type State,
  type StateSettings,
} from './state/index.js';
export type * from './state/keys/api-keys.js';
export type { DailyQuota } from './state/limits/daily-quotas.js';
export type * from './state/limits/windows.js';
export { checkTransaction } from './state/payments/money-checks.js';
export type * from './state/payments/orders.js';
export type * from './state/usage/admissions.js';
export type * from './state/usage/budgets.js';
export { type JobRequestTerms, type JobTerms, toJobTerms } from './state/usage/job-admission.js';
export type * from './state/usage/job-costs.js';
export type * from './state/usage/usage.js';
export type * from './state/webhooks/webhooks.js';
export { loadSecret, mendSecrets, secretsOfOthers } from './storage/secrets.js';
export { correctionOf } from './text/background-correction.js';
export { createEventTexts, type EventTexts } from './text/event-texts.js';
export { type JsonValue, replaceMembers } from './text/json-members.js';
