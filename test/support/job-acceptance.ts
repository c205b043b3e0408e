import {
  type Acceptance,
  type Accepted,
  type JobRequestTerms,
  type Jobs,
  type NewJob,
  type SlotAnswer,
  toJobTerms,
} from 'mediagate';

export interface Asked extends JobRequestTerms {
  job: NewJob;
}

export interface Answered extends Omit<Accepted, 'answer' | 'rateLimited'> {
  slot?: SlotAnswer;
}

/** As the server asks for a job: with what the key and the account pay for it. */
export function toAcceptance({ job, ...terms }: Asked): Acceptance {
  return { job, terms: toJobTerms(terms) };
}

export function toAnswered({ answer, rateLimited: _limited, ...accepted }: Accepted): Answered {
  return { ...accepted, ...(answer !== undefined && { slot: answer as SlotAnswer }) };
}

export async function acceptJob(jobs: Pick<Jobs, 'accept'>, asked: Asked): Promise<Answered> {
  return toAnswered(await jobs.accept(toAcceptance(asked)));
}
