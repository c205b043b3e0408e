export type {
  AdmissionCandidate,
  AdmissionContext,
  AdmissionHooks,
  AdmissionVerdict,
  EndedJob,
  OpenAdmissions,
} from './admission.js';
export { type Dispatcher, openDispatcher } from './dispatcher.js';
export { createEndWaits } from './end-waits.js';
export type { CancelledJob, JobAdministration, JobDetails, JobList } from './job-administration.js';
export { hashText, toFailure, toJson } from './job-rows.js';
export type {
  Accepted,
  Charge,
  JobFailure,
  JobKind,
  JobRecord,
  JobRun,
  JobState,
  Jobs,
  JobWorkers,
  WaitOptions,
} from './jobs.js';
export { createJobs } from './jobs-sql.js';
export { queueFull } from './queue-full.js';
export type { JobsTable } from './tables.js';
