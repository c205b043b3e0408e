/*
 * Routes of link data and the encoding of documents. Other folders import these from here alone.
 */

export { encodeExtraction, encodeJob, encodePublic, type LinkAnswer, videoAddress, withMediaLinks } from './answers.js';
export { BlockList } from './blocked-links.js';
export { extractRoutes } from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
export {
  ExtractRequests,
  type JobAnswerFields,
  type JobBatchBody,
  MAX_BATCH_URLS,
  MAX_JOB_BATCH_BYTES,
  MAX_JOB_BATCH_URLS,
} from './extract-fields.js';
export { extractJobRoutes, readFlag } from './extract-jobs.js';
export { EXAMPLE_LINK, LINK_ROUTE, REFUSALS } from './link-route.js';
export { type LinkServices, LinkUsage, type LinkUsageServices, type MediaProxy } from './link-usage.js';
export { mediaIssuer, mediaRoutes } from './media.js';
export { oembedRoutes } from './oembed.js';
export { videoRoutes } from './video.js';
export { encodeInfoDict, INFO_TYPE } from './yt-dlp.js';
