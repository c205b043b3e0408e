/// <reference types="node" preserve="true" />
import 'reflect-metadata';

export type * from './audio/audio.js';
export type { BrowserExecutable } from './browser/browser-process.js';
export * from './contracts/index.js';
export { type Static, type TObject, type TSchema, Type } from './contracts/typebox.js';
export type { Fingerprint, Instances } from './database/heartbeat.js';
export type { JobsOptions } from './extraction/background-jobs.js';
export type { ExtractionJobSummary } from './extraction/extraction.js';
export * from './extraction/extractor-from.js';
export * from './extraction/fallback-chain.js';
export * from './extraction/merge.js';
export * from './extraction/responses.js';
export { parseLinkText } from './extraction/scraping/meta-tags.js';
export * from './extraction/scraping/scraping.js';
export * from './extraction/site-config.js';
export * from './gateway.js';
export { type BrowserOptions, type GatewayOptions, type GatewayServices, openHttpClient } from './gateway-services.js';
export type * from './images/images.js';
export { MAX_REFERENCES, type ReferenceInput, removeInputImages } from './images/references.js';
export type * from './jobs/administration.js';
export type * from './jobs/jobs.js';
export type * from './jobs/jobs.js';
export { audioFormat, openAudio, openAudioAnswer } from './media/audio-formats.js';
export { createAddressGuard, isLoopbackHost } from './net/egress.js';
export {
  createFailOver,
  type FailOver,
  type FailOverCall,
  type FailOverOptions,
  type TryConsequence,
  TryFailure,
} from './net/fail-over.js';
export { neverSent } from './net/http-receiver.js';
export * from './net/model-upstreams.js';
export * from './net/model-upstreams.js';
export { encodeForm, type FilePart, type Form } from './net/multipart-form.js';
export * from './net/upstream-failures.js';
export { createLogger, type LoggerOptions, type LogLevel, type RootLogger } from './observability/logger.js';
export { leaveScope, runInScope, type WorkScope } from './observability/spans.js';
export { definePlugin, PluginConfigError, readPluginConfig } from './plugins/plugin-config.js';
export * from './runtime/errors.js';
export { drawRandomBytes, type ListItem, SwapRemoveList, systemClock } from './runtime/time.js';
export { type Checked, closestMatch, createValidator, type Issue, type Validator } from './runtime/validation.js';
export { type Files, openFiles } from './storage/files.js';
export { loadSecret, mendSecrets, secretsOfOthers } from './storage/secrets.js';
export { correctionOf } from './text/background.js';
export { createEventTexts, type EventTexts } from './text/events.js';
export { type JsonValue, replaceFields } from './text/json.js';
export type * from './text/requests.js';
export type { TextsOptions } from './text/text.js';
