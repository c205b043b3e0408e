export { createAudioFiles } from './audio-files.js';
export { createAudioLinks } from './audio-link.js';
export { checkDocument } from './check-document.js';
export { createExtractionService } from './extraction.js';
export { createExtractionJobs, type ExtractionJobs } from './extraction-jobs.js';
export type {
  AudioFile,
  AudioFileRequest,
  BatchItem,
  BatchRequest,
  ExtractionJob,
  ExtractRequest,
  ExtractResult,
  Submission,
  SubmitRequest,
} from './requests.js';
export { createSubmissions } from './submission.js';
