export type { BrowserClients, ScopeOptions } from './browser.js';
export type { BrowserExecutable } from './browser-process.js';
