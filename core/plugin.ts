/*
 * `mediagate/plugin`: everything a plugin may import. It has the contracts, errors and building blocks, and none of the
 * gateway, so it loads three small packages: ajv, ipaddr.js and, once a page is parsed, cheerio.
 */

/// <reference types="node" preserve="true" />
export * from './contracts/index.js';
export { type Static, type TObject, type TSchema, Type } from './contracts/typebox.js';
export * from './extraction/extractor-from.js';
export type { ChainResult, Part } from './extraction/fallback-chain.js';
export * from './extraction/merge.js';
export type { Method, Outcome } from './extraction/method-run.js';
export * from './extraction/responses.js';
export * from './extraction/scraping/scraping.js';
export { openAudio, openAudioAnswer } from './media/audio-formats.js';
export { isLoopbackHost } from './net/egress.js';
export { encodeForm, type FilePart, type Form } from './net/multipart-form.js';
export { definePlugin } from './plugins/plugin-config.js';
export {
  type ErrorCode,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
  type UpstreamWords,
} from './runtime/errors.js';
export type { DefinitiveCode, TransientCode } from './runtime/source-errors.js';
export { fitToolId, type ToolName, ToolNames } from './text/chats/tool-names.js';
export { type BodyConverter, type ChatTranslation, convertBody, translateToChat } from './text/chats/translation.js';
export { markNumbers, restoreNumbers } from './text/exact-json.js';
export { type JsonValue, replaceFields } from './text/json.js';
export { type Work, type Worked, workOn } from './text/large-work.js';
export { createEventTexts, type EventTexts } from './text/streams/events.js';
export { createWholeConverter, type WholeConversion } from './text/whole/whole-converter.js';
export * from './upstreams/failures.js';
export {
  checkModelList,
  createFailOver,
  type FailOver,
  type FailOverCall,
  type FailOverOptions,
  type ModelListCheck,
  type TryConsequence,
  TryFailure,
} from './upstreams/index.js';
export * from './upstreams/model-upstreams.js';
export * from './upstreams/text-upstreams.js';
