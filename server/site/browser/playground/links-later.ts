/*
 * What the links part of the playground loads once it is needed, as one file: documents, and lists of links, which show the
 * same documents.
 */

export { showDocument } from './document-result.js';
export { startBatches } from './link-batches.js';
