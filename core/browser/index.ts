/*
 * The types of the browser service; its code is loaded only if a browser is configured.
 */

export type { BrowserClients, ScopeOptions } from './browser.js';
export type { BrowserExecutable } from './browser-process.js';
