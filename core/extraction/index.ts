/*
 * What other folders may import of extraction: the service, background jobs, hosted MP3 files, and the parsing of
 * pasted links.
 */

// Declares its error codes.
import './errors.js';
// Declares its kind of jobs.
import './extraction-jobs.js';

export {
  createExtractionJobs,
  createSubmissions,
  type ExtractionJobs,
  type JobsOptions,
  type Submissions,
} from './background-jobs.js';
export {
  checkDocument,
  createExtractionService,
  defaultRequestOptions,
  type ExtractionJobSummary,
  type ExtractionService,
} from './extraction.js';
export { matchPasted, parseLinkText } from './links/index.js';
export { type AudioFiles, type AudioLinks, createAudioFiles, createAudioLinks } from './mp3-files.js';
export { parseCount } from './scraping/counts.js';
export { parseDuration } from './scraping/dates.js';
