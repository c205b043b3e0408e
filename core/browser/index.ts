export type { BrowserFaces, FaceOptions } from './browser.js';
export type { BrowserExecutable } from './browser-process.js';
