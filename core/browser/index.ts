/*
 * The types of the browser service; its code is loaded when a plugin that uses a browser is configured.
 */

export type { BrowserClients, ScopeOptions } from './browser.js';
export type { BrowserExecutable } from './browser-process.js';
