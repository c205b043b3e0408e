export type { BrowserExecutable } from './browser-process.js';
