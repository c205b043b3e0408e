/// <reference types="node" preserve="true" />
import 'reflect-metadata';

export * from './contracts/index.js';
export { type Static, type TObject, type TSchema, Type } from './contracts/typebox.js';
export { definePlugin } from './define-plugin.js';
export * from './errors.js';
export { type FactsOverride, overrideFacts } from './extraction/facts.js';
export * from './extraction/ladder.js';
export { parseLinkText } from './extraction/link-text.js';
export * from './extraction/merge.js';
export type * from './extraction/requests.js';
export * from './extraction/scraping.js';
export { type ShortLinkWalk, walkShortLink } from './extraction/short-link.js';
export * from './gateway.js';
export { openHttpClient } from './gateway-services.js';
export { removeInputImages } from './images/reference-files.js';
export { openSound, soundFormat } from './media/sound-stream.js';
export { nearestName } from './near-names.js';
export { type Placed, PlacedList } from './placed-list.js';
export { PluginConfigError, readPluginConfig } from './plugin-config.js';
export { createAddressGuard } from './services/address-guard.js';
export { systemClock } from './services/clock.js';
export {
  createFailOver,
  type FailOver,
  type FailOverCall,
  type FailOverOptions,
  type TryConsequence,
  TryFailure,
} from './services/fail-over.js';
export { neverSent } from './services/http-failure.js';
export { createLogger, type LoggerOptions, type LogLevel, type RootLogger } from './services/logger.js';
export { isLoopbackHost } from './services/loopback-host.js';
export { encodeForm, type FilePart, type Form } from './services/multipart-form.js';
export { drawRandomBytes } from './services/random-bytes.js';
export * from './services/upstream-failures.js';
export * from './services/upstream-refusal.js';
export { leaveScope, runInScope, type WorkScope } from './services/work-scope.js';
export type * from './state/account-state.js';
export type * from './state/accounts.js';
export { FREE_PLAN_ID } from './state/accounts.js';
export type * from './state/admissions.js';
export type * from './state/api-keys.js';
export type * from './state/audit.js';
export type * from './state/background-responses.js';
export type * from './state/budgets.js';
export type * from './state/device-grants.js';
export {
  type Files,
  openFiles,
  openRecords,
  openState,
  type Records,
  type State,
  type StateSettings,
} from './state/index.js';
export type * from './state/instances.js';
export type * from './state/job-administration.js';
export type * from './state/jobs.js';
export * from './state/kept-answers.js';
export { checkTransaction } from './state/money-checks.js';
export type * from './state/orders.js';
export { keyAt } from './state/plan-following.js';
export { loadSecret, mendSecrets, secretsOfOthers } from './state/secrets.js';
export type * from './state/sessions.js';
export type * from './state/sign-ins.js';
export type * from './state/stored-responses.js';
export * from './state/upkeep.js';
export type * from './state/usage.js';
export type * from './state/users.js';
export type * from './state/webhooks.js';
export type * from './state/windows.js';
export { correctionOf } from './text/background-correction.js';
export { createEventTexts, type EventTexts } from './text/event-texts.js';
export { type JsonValue, replaceMembers } from './text/json-members.js';
export { type Checked, createValidator, type Issue, type Validator } from './validation.js';
