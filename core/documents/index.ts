/*
 * What the token counter imports to read documents in requests: the reader, its limits, and the error for a file that
 * cannot be read.
 */

export { type FileContent, READ_KINDS, readFile } from './documents.js';
export { ReadingLimits, UnreadableDocument } from './limits.js';
