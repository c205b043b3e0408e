export { createExtractionJobs, createSubmissions, type ExtractionJobs, type Submissions } from './background-jobs.js';
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
export { checkDocument, createExtractionService, type ExtractionService } from './extraction.js';
export { type AudioFiles, type AudioLinks, createAudioFiles, createAudioLinks } from './mp3-files.js';
