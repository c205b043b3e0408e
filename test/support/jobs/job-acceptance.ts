/** Acceptance of jobs in short form, for tests of the queue. */

import type { Acceptance, Accepted, Jobs, NewJob } from 'mediagate';
import type { RateLimitResult } from '../../../server/limits/rate-limit.js';
import { type JobRequestTerms, toJobTerms } from '../../../server/usage/job-admission.js';

export interface Asked extends JobRequestTerms {
  job: NewJob;
}

export interface Answered extends Omit<Accepted, 'answer' | 'rateLimited'> {
  slot?: RateLimitResult;
}

/** As the server asks for a job: with what the key and the account pay for it. */
export function toAcceptance({ job, ...terms }: Asked): Acceptance {
  return { job, terms: toJobTerms(terms) };
}

export function toAnswered({ answer, rateLimited: _limited, ...accepted }: Accepted): Answered {
  return { ...accepted, ...(answer !== undefined && { slot: answer as RateLimitResult }) };
}

export async function acceptJob(jobs: Pick<Jobs, 'accept'>, asked: Asked): Promise<Answered> {
  return toAnswered(await jobs.accept(toAcceptance(asked)));
}
