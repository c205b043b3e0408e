export { type FileClaim, type FileContent, READ_KINDS, readFile } from './documents.js';
export { ReadingLimits, UnreadableDocument } from './limits.js';
