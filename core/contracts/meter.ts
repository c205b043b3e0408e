/**
 * Told of what happens, for figures. Whoever tells goes on at once: no method waits, and none throws. Durations are in
 * milliseconds.
 */
export interface Meter {
  /** A group of jobs was accepted in one transaction. */
  jobsAccepted(group: { kind: 'extraction' | 'image'; jobs: number; ms: number }): void;
  /** A run of a job begins. `waitedMs`: how long it was queued before its first run. */
  jobBegun(run: { kind: 'extraction' | 'image'; attempt: number; waitedMs?: number }): void;
  /** It is over, and that was written down as `outcome`; see {@link JobRunOutcome}. `code`: of the failure. */
  jobRunEnded(run: { kind: 'extraction' | 'image'; outcome: JobRunOutcome; ms: number; code?: string }): void;
  /** This process found out that a run of its own may be somebody else's by now. */
  leaseLost(run: { kind: 'extraction' | 'image' }): void;
  /** A run whose process is gone was ended. */
  jobCutOff(run: { kind: 'extraction' | 'image'; fails: boolean }): void;
  /** A request of a plugin has its answer, or none. `outcome`: `2xx` to `5xx`, or an error code. */
  upstreamAnswered(request: { entry: string; outcome: string; ms: number }): void;
  /** An item was given out: asked for now, from the cache, or too old since the source is out. */
  extractionAnswered(item: { platform: string; cache: 'hit' | 'miss' | 'stale' }): void;
}

/**
 * `given_back`: to the queue, since the process ends or the lease is lost. `refused`: the job was somebody else's by then, or
 * had ended. `lost`: nobody could write down what became of it.
 */
export type JobRunOutcome = 'completed' | 'failed' | 'cancelled' | 'given_back' | 'refused' | 'lost';

/** One of the upstreams that a provider asks, and whether it can be asked now. */
export interface UpstreamState {
  /** As in the log, e.g. `upstreams.0`: addresses are nobody's business. */
  name: string;
  /** True while it is left alone after failing. */
  resting: boolean;
  /** Since the start. */
  tries: number;
  /** Of them, those that failed, other than by the caller's fault. */
  failures: number;
}
