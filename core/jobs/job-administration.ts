import type { Script } from '../database/index.js';
import type { JobFailure, JobKind, JobRecord, JobState } from './jobs.js';

/** Of all jobs, those that are asked for. */
export interface JobPage {
  /** Default: both. */
  kind?: JobKind;
  /** Default: `queued` and `running`. */
  state?: JobState;
  /** Only what belongs to this owner, also where it joined the job of another. */
  owner?: string;
  /** At most this many. */
  limit: number;
  /** Id of a job: only what comes after it in the list. */
  before?: string;
}

/** What operators see of any job. Times are milliseconds since 1970, by the clock that jobs go by. */
export interface ListedJob {
  id: string;
  kind: JobKind;
  state: JobState;
  /** Runs begun so far. */
  attempts: number;
  /** Runs that ended with their process. */
  cutOffs: number;
  /** Whoever asked first. */
  owner: string;
  /** The key that they asked with; null where there was none. */
  keyId: string | null;
  /** Other owners that joined it. */
  joined: number;
  createdAt: number;
  /** Of the latest run. */
  startedAt: number | null;
  finishedAt: number | null;
  /** Who runs it, while it is running. */
  worker: JobWorker | null;
  error: JobFailure | null;
}

export interface JobWorker {
  /** Name of the machine, or of the container. */
  host: string;
  pid: number;
  /** When it last showed life; the start of the run where it has not since. */
  seenAt: number;
  /** Whether its process is known to have ended, which only its own machine can tell. */
  hasEnded: boolean;
}

export interface JobList {
  jobs: readonly ListedJob[];
  /** Now, by the clock of the times above. */
  at: number;
  /** Milliseconds that a worker may show no life before others take its job for theirs. */
  leaseMs: number;
}

export interface JobDetails extends ListedJob {
  /** As in `JobRecord`. */
  summary: unknown;
  expiresAt: number | null;
  /** Owners that joined it. */
  joinedBy: readonly string[];
  /** Of the request that accepted it. */
  requestId: string | null;
  /** Of that request, as W3C Trace Context writes it. */
  traceparent: string | null;
  /** What the admission hooks keep with it. */
  admission: string | null;
  /** Where it stands, 1 being next; null where it is not queued. */
  queuePosition: number | null;
}

/** Jobs of a kind that ended within the last hour; of more than 10,000, the latest. */
export type RecentEnds = Readonly<Record<Exclude<JobState, 'queued' | 'running'>, number>>;

export interface JobCancellation {
  id: string;
  /** Runs in the transaction that ends the job, e.g. to write down who did it. */
  alsoWrite?(change: CancellationChange): Script<void>;
}

export interface CancellationChange {
  id: string;
  from: JobState;
  to: JobState;
  /** Milliseconds since 1970. */
  at: number;
}

export interface CancelledJob {
  job: JobRecord;
  /** False where it was cancelled before. */
  changed: boolean;
}

/** What operators do with the jobs of anybody. All throw GatewayError `upstream_unavailable` where the database does not answer. */
export interface JobAdministration {
  /**
   * Jobs that wait or run, newest first; those of another state by when they ended, latest first.
   * @throws GatewayError `job_not_found` where there is no job `before`.
   */
  list(page: JobPage): Promise<JobList>;
  /** Undefined where there is no such job. It may be one that clients are not shown any more. */
  inspect(id: string): Promise<(JobDetails & Pick<JobList, 'at' | 'leaseMs'>) | undefined>;
  recentEnds(): Promise<Readonly<Record<JobKind, RecentEnds>>>;
  /**
   * As `Jobs.cancel`, whoever it belongs to. Undefined where there is no such job.
   * @throws GatewayError `job_already_terminal` where it has completed or failed.
   */
  cancelAsOperator(cancellation: JobCancellation): Promise<CancelledJob | undefined>;
}
