/*
 * All contracts between core, plugins and programs that embed the gateway. Other folders import contracts from here
 * only.
 */

export * from './audio-provider.js';
export * from './documents.js';
export * from './documents.js';
export * from './extraction.js';
export * from './extractor.js';
export * from './gateway.js';
export * from './image-provider.js';
export { type MediaEntry, MediaEntrySchema } from './media-entry.js';
export * from './plugin.js';
export * from './plugin.js';
export * from './services.js';
export * from './services.js';
export type {
  BackgroundCorrection,
  BackgroundResponse,
  BackgroundResponses,
  StoredItem,
  StoredResponse,
  StoredResponses,
} from './text-provider.js';
export * from './text-provider.js';
export { field, optional, type Static, type TObject, type TSchema, Type } from './typebox.js';
