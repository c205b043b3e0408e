/*
 * What other folders may import of background jobs: the service, its dispatcher, the hooks of admission, and the
 * migrations of its tables.
 */

// Declares its error codes.
import './errors.js';

export type { CancelledJob, JobAdministration, JobDetails, JobList, JobWorker, ListedJob } from './administration.js';
export { type Dispatcher, openDispatcher } from './dispatcher.js';
export { CompletionWaiters } from './finish.js';
export {
  type Accepted,
  type AdmissionCandidate,
  type AdmissionContext,
  type AdmissionDecision,
  type AdmissionHooks,
  type Charge,
  type EndedJob,
  type Jobs,
  type JobWorkers,
  type OpenAdmissions,
  queueFull,
  tooManyOpenJobs,
  type WaitOptions,
} from './jobs.js';
export { declareJobKind, filesOfJob, type JobKind, kindOfJob, retentionMs } from './kinds.js';
export { eraseJobs, readJobs, selectJobsOf } from './owner-jobs.js';
export type { JobFilter, JobRecord, JobRun } from './records.js';
export type { JobRetry } from './retries.js';
export { createJobs } from './service.js';
export { hashText, toFailure, toJson } from './statements.js';
export { type JobsTable, jobMigrations } from './tables.js';
