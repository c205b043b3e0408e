export { type Dispatcher, openDispatcher } from './dispatcher.js';
export type { CancelledJob, JobAdministration, JobDetails, JobList } from './job-administration.js';
export { createCompletionWaiters } from './job-ends.js';
export { type JobsTable, jobMigrations } from './job-rows.js';
export { createJobs } from './job-service.js';
export { hashText, toFailure, toJson } from './job-statements.js';
export {
  type Accepted,
  type AdmissionCandidate,
  type AdmissionHooks,
  type Charge,
  type EndedJob,
  type JobKind,
  type JobRecord,
  type JobRun,
  type Jobs,
  type JobWorkers,
  queueFull,
  type WaitOptions,
} from './jobs.js';
