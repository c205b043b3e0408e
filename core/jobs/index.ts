/*
 * What other folders may import of background jobs: the service, its dispatcher, the hooks of admission, and the
 * migrations of its tables.
 */

export type { CancelledJob, JobAdministration, JobDetails, JobList, JobWorker, ListedJob } from './administration.js';
export { type Dispatcher, openDispatcher } from './dispatcher.js';
export { createCompletionWaiters } from './finish.js';
export {
  type Accepted,
  type AdmissionCandidate,
  type AdmissionHooks,
  type Charge,
  type EndedJob,
  type JobFilter,
  type JobKind,
  type JobRecord,
  type JobRun,
  type Jobs,
  type JobWorkers,
  queueFull,
  tooManyOpenJobs,
  type WaitOptions,
} from './jobs.js';
export { createJobs } from './service.js';
export { hashText, toFailure, toJson } from './statements.js';
export { type JobsTable, jobMigrations } from './tables.js';
