export { createExtractionJobs, createSubmissions, type ExtractionJobs } from './background-jobs.js';
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
} from './extraction.js';
export { checkDocument, createExtractionService } from './extraction.js';
export { createAudioFiles, createAudioLinks } from './mp3-files.js';
