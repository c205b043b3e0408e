/*
 * `mediagate`: a gateway in a program of your own. Plugins import `mediagate/plugin`, which has the contracts' building
 * blocks; `definePlugin` and `GatewayError` are in both.
 */

/// <reference types="node" preserve="true" />
import 'reflect-metadata';

export type * from './audio/audio.js';
export type { BrowserExecutable } from './browser/browser-process.js';
export type * from './contracts/index.js';
export type { JobsOptions } from './extraction/background-jobs.js';
export type { ExtractionJobSummary } from './extraction/extraction.js';
export * from './gateway.js';
export { type BrowserOptions, type GatewayOptions, type GatewayServices, openHttpClient } from './gateway-services.js';
export type { ImageRequest } from './images/image-run.js';
export type * from './images/images.js';
export type { ImageJobSummary } from './images/references.js';
export type { FinishedImage, ImageDelivery, ImageFile } from './images/result-files.js';
export type * from './jobs/administration.js';
export type * from './jobs/jobs.js';
export type { JobKind } from './jobs/kinds.js';
export type { JobCounts, JobFilter, JobRecord, JobRun } from './jobs/records.js';
export { createLogger, type LoggerOptions, type LogLevel, type RootLogger } from './observability/logger.js';
export { definePlugin, PluginConfigError, readPluginConfig } from './plugins/plugin-config.js';
export {
  type Attempt,
  ERROR_CODES,
  type ErrorCode,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
  type UpstreamWords,
} from './runtime/errors.js';
export type { DefinitiveCode, TransientCode } from './runtime/source-errors.js';
export { systemClock } from './runtime/time.js';
export type * from './text/requests.js';
export type { TextsOptions } from './text/text.js';
