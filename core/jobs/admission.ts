import type { Script } from '../database/index.js';
import type { GatewayError } from '../runtime/index.js';
import type { Charge, JobKind } from './jobs.js';
import { queueFull } from './jobs.js';

/*
 * Admission hooks let the product that embeds core decide which jobs are accepted, and charge for them, in the transactions
 * of core. Jobs are accepted in groups of up to a hundred in one transaction, so the hooks work on groups too: `open` reads
 * what the whole group needs, `judge` decides about one candidate after the other, `save` writes once. What `judge` answers
 * as `admission` is stored with the job, and `jobsEnded` receives it in the transaction that ends the job. Core does not
 * look into `terms`, `admission` and `answer`.
 */

/** An acceptance as the hooks see it. */
export interface AdmissionCandidate {
  readonly owner: string;
  /** As in {@link Acceptance}. */
  readonly terms: unknown;
  /** False only asks: then nothing may be taken. */
  readonly take: boolean;
}

export interface AdmissionContext {
  /** The job that an acceptance leads to: a new one, or one that is joined. */
  readonly jobId: string;
  readonly joined: boolean;
  /** Whether the kind has as many active jobs as it may. A job that is joined needs no place. */
  readonly full: boolean;
}

export type AdmissionVerdict =
  /** `admission` is stored with a new job; `answer` goes to the caller. */
  | { outcome: 'accept'; admission?: string | null; answer?: unknown }
  | { outcome: 'refuse'; error: GatewayError }
  /** An earlier request made the job: one of {@link OpenAdmissions.replayOf}, or one of this group. */
  | { outcome: 'replay'; jobId: string }
  /** `answer` is asked for at once, before the next candidate; it may read and writes nothing. */
  | { outcome: 'rateLimited'; answer(): Script<unknown> };

/** The admissions of one group, in one transaction. */
export interface OpenAdmissions {
  /** The job that an earlier request made; core reads these jobs together before it asks for verdicts. */
  replayOf(candidate: AdmissionCandidate): string | undefined;
  /** Decides, knowing what the candidates before it took, from what `open` read. */
  judge(candidate: AdmissionCandidate, context: AdmissionContext): AdmissionVerdict;
  /** Writes down what was taken; it counts when the transaction commits. */
  save(): Script<void>;
}

/** A job that the running transaction has ended. */
export interface EndedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly owner: string;
  /** Empty where it was accepted without one. */
  readonly keyId: string;
  /** As `judge` answered it. */
  readonly admission: string | null;
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  /** Of a completed job whose run tells it. */
  readonly charge?: Charge;
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** Registered per kind in every process that accepts or ends jobs: an end can happen in any of them. */
export interface AdmissionHooks {
  /**
   * Locks and reads what the group needs. Core has locked the kind before.
   * @param at Milliseconds since 1970, by the clock of the jobs.
   */
  open(candidates: readonly AdmissionCandidate[], at: number): Script<OpenAdmissions>;
  /** Runs in every transaction that ends jobs, whatever ends them; each job comes once. */
  jobsEnded(jobs: readonly EndedJob[]): Script<void>;
}

/** Default: nothing but the bound of the queue. */
export const BOUND_ONLY: AdmissionHooks = {
  *open() {
    return {
      replayOf: () => undefined,
      judge: (_candidate, { full }) => (full ? { outcome: 'refuse', error: queueFull() } : { outcome: 'accept' }),
      *save() {},
    };
  },
  *jobsEnded() {},
};
