declare module '../../core/database/tables.js' {
  interface Tables {
    idempotency_keys: IdempotencyKeysTable;
  }
}

export interface IdempotencyKeysTable {
  /** SHA-256 of scope and key in lower-case hex. */
  hash: string;
  /** SHA-256, too. */
  fingerprint: string;
  /** Of the job that was the answer; empty where there is none. */
  job_id: string;
  expires_at: number;
  /** The rest is of answers that are not jobs; see kept-answers-sql.ts. Null, or 0, where a job is. */
  account_id: string | null;
  /** Names the work that makes the answer, and the file that keeps it. */
  answer_id: string | null;
  /** Who is at that work; see runner.ts. Null once it has ended. */
  runner: string | null;
  /** Goes up while the work goes on. */
  beat: number;
  /** JSON: what the answer begins with. Null in a row of work that has ended: it was not kept, and the key is free. */
  head: string | null;
  /** JSON: why there is no answer, for those who wait for it. */
  failure: string | null;
  /** Of the answer's body. */
  bytes: number;
}
