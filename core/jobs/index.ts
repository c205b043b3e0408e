export { type Dispatcher, openDispatcher } from './dispatcher.js';
export type { CancelledJob, JobAdministration, JobDetails, JobList } from './job-administration.js';
export { createCompletionWaiters } from './job-ends.js';
export type { JobsTable } from './job-rows.js';
export { createJobs } from './job-service.js';
export { hashText, toFailure, toJson } from './job-statements.js';
export type {
  Accepted,
  AdmissionCandidate,
  AdmissionHooks,
  Charge,
  EndedJob,
  JobKind,
  JobRecord,
  JobRun,
  Jobs,
  JobWorkers,
  WaitOptions,
} from './jobs.js';
export { queueFull } from './jobs.js';
