import 'reflect-metadata';

export { default as Type } from 'typebox';
export * from './contracts/index.js';
export { definePlugin } from './define-plugin.js';
export * from './errors.js';
export * from './extraction/ladder.js';
export { parseLinkText } from './extraction/link-text.js';
export * from './extraction/merge.js';
export * from './extraction/scraping.js';
export * from './gateway.js';
export { PluginConfigError, readPluginConfig } from './plugin-config.js';
export { createLogger, type LoggerOptions, type LogLevel, type RootLogger } from './services/logger.js';
export { systemClock } from './services/clock.js';
export type * from './state/api-keys.js';
export { openState, type State, type StateSettings } from './state/index.js';
export { loadSecret } from './state/secrets.js';
export type * from './state/windows.js';
export { type Checked, createValidator, type Issue, type Validator } from './validation.js';
