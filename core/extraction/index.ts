/*
 * What other folders may import of extraction: the service, background jobs, hosted MP3 files, and the parsing of
 * pasted links.
 */

// Declares its error codes.
import './errors.js';
// Declares its kind of jobs.
import './extraction-jobs.js';

export {
  ExtractionJobs,
  type JobsOptions,
  Submissions,
} from './background-jobs.js';
export { checkDocument } from './check-extraction.js';
export {
  type ExtractionJobSummary,
  ExtractionService,
} from './extraction.js';
export { describeLimitation, LIMITATIONS, type LimitationMessage } from './limitation-messages.js';
export { LinkLimits } from './link-limits.js';
export { matchPasted, parseLinkText } from './links/index.js';
export { MediaChecks } from './media/media-checks.js';
export { MediaFiles } from './media/media-files.js';
export { MediaLinks } from './media/media-links.js';
export { MediaSources } from './media/media-sources.js';
export { AudioFiles, AudioLinks } from './media/mp3-files.js';
export { defaultRequestOptions } from './request-options.js';
export { parseCount } from './scraping/counts.js';
export { parseDuration } from './scraping/dates.js';
export { wholeVideo } from './video/video-choice.js';
export { VideoFiles } from './video/video-files.js';
export { VideoLinks } from './video/video-links.js';
export { VideoSpools } from './video/video-spools.js';
