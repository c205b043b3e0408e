import 'reflect-metadata';

export { default as Type } from 'typebox';
export * from './contracts/index.js';
export { definePlugin } from './define-plugin.js';
export * from './errors.js';
export * from './extraction/ladder.js';
export { parseLinkText } from './extraction/link-text.js';
export * from './extraction/merge.js';
export * from './gateway.js';
export { PluginConfigError, readPluginConfig } from './plugin-config.js';
export type * from './state/api-keys.js';
export type * from './state/index.js';
export type * from './state/windows.js';
export { type Checked, createValidator, type Issue, type Validator } from './validation.js';
