export * from './audio-provider.js';
export * from './documents.js';
export * from './extractor.js';
export * from './image-provider.js';
export * from './media.js';
export * from './plugin.js';
export * from './services.js';
export * from './text-provider.js';
