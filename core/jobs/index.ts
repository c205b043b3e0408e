export type {
  AdmissionCandidate,
  AdmissionContext,
  AdmissionHooks,
  AdmissionVerdict,
  EndedJob,
  OpenAdmissions,
} from './admission.js';
export { createEmbeddedDispatcher } from './dispatch-embedded.js';
export type { Dispatcher } from './dispatcher.js';
export type { JobAdministration } from './job-administration.js';
export { createJobClock, type JobClock } from './job-clock.js';
export { hashText } from './job-rows.js';
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
