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
export { type Files, openFiles } from './storage/files.js';
export { loadSecret, mendSecrets, secretsOfOthers } from './storage/secrets.js';
export { correctionOf } from './text/background-correction.js';
export { createEventTexts, type EventTexts } from './text/event-texts.js';
export { type JsonValue, replaceMembers } from './text/json-members.js';
