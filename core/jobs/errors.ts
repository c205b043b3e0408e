/*
 * Error codes of background jobs, and of how a job can fail.
 */

import { CONFLICT, type DeclaredCodes, declareErrors, GONE, NOT_FOUND, OVERLOADED } from '../runtime/index.js';

declare module '../runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof jobErrors> {}
}

const jobErrors = declareErrors({
  job_not_found: {
    ...NOT_FOUND,
    meaning: 'The job does not exist for this account.',
    cause: 'The id is mistyped, belongs to another account, or its storage time is over.',
    action: 'Check the id, or submit a new job.',
  },
  job_expired: {
    ...GONE,
    meaning: 'The job was deleted after its storage time.',
    cause: 'Reserved: such a job is reported as `job_not_found`.',
    action: 'Submit a new job.',
  },
  job_already_terminal: {
    ...CONFLICT,
    meaning: 'The job has already ended.',
    cause: 'A job that has completed, failed or was cancelled cannot be cancelled.',
    action: 'Read its result.',
  },
  job_not_retryable: {
    ...CONFLICT,
    meaning: 'The job cannot be retried.',
    cause: 'It has not failed, was retried already, or what it was asked for is no longer stored.',
    action: 'Read the message. Otherwise its owner submits a new job.',
  },
  too_many_open_jobs: {
    status: 429,
    type: 'rate_limit_error',
    retryable: true,
    meaning: 'The account has too many jobs that wait or run.',
    cause: 'One account may use a share of the queue.',
    action: 'Wait until some of the jobs have ended.',
  },
  queue_expired: {
    ...OVERLOADED,
    retryable: true,
    meaning: 'The job waited too long in the queue.',
    cause: 'The gateway is overloaded, or no worker runs.',
    action: 'Submit a new job with a new `Idempotency-Key`.',
  },
  job_timeout: {
    status: 504,
    type: 'timeout_error',
    retryable: true,
    meaning: 'The job took too long.',
    cause: 'The platform or model vendor is slow.',
    action: 'Submit a new job with a new `Idempotency-Key`.',
  },
  cancelled: {
    ...CONFLICT,
    meaning: 'The job was cancelled.',
    cause: 'The client, the revocation of its key, or the operator cancelled it.',
    action: 'Submit a new job if the result is still needed.',
  },
  interrupted: {
    status: 500,
    type: 'server_error',
    retryable: true,
    meaning: 'The job was interrupted too often while it ran.',
    cause: 'The process that ran the job ended several times.',
    action: 'Submit a new job. If it happens again, tell the operator.',
  },
});
