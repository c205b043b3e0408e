/*
 * Routes of link data and the encoding of documents. Other folders import these from here alone.
 */

export { encodeExtraction, encodeJob } from './answers.js';
export { BlockList } from './blocked-links.js';
export { extractRoutes } from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
export { ExtractRequests } from './extract-fields.js';
export { extractJobRoutes } from './extract-jobs.js';
export { EXAMPLE_LINK, REFUSALS } from './link-route.js';
export { LinkUsage, type LinkUsageServices, type MediaProxy } from './link-usage.js';
export { mediaRoutes } from './media.js';
export { oembedRoutes } from './oembed.js';
export { videoRoutes } from './video.js';
