import type { WaitOptions } from '../../jobs/jobs.js';
import type { GatewayError } from '../../runtime/index.js';
import type { Idempotency } from './idempotency-keys.js';

/** A request with an idempotency key whose answer is no job. */
export interface AnswerRequest extends Pick<Idempotency, 'scope' | 'key' | 'fingerprint'> {
  /** Whose answers are counted together. */
  accountId: string;
}

/** The work of the one request of its key that does it. */
export interface AnswerWork {
  /** `answer_` and 128 random bits in hex; also names the file that the body is to be kept in, {@link answerFileOf}. */
  readonly id: string;
  /** Of scope and key. */
  readonly hash: string;
  readonly accountId: string;
  /** Milliseconds since 1970: until then the answer is given again. */
  readonly expiresAt: number;
  /** Bytes that its body may have, by what the account has kept already; 0 where nothing more is kept. */
  readonly room: number;
}

/** What an answer begins with. */
export interface AnswerHead {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}

export interface KeptAnswer extends AnswerHead {
  /** File of its body. */
  file: string;
}

export type AnswerClaim =
  /** The caller is to do the work, and to say how it ended. */
  | { state: 'begun'; work: AnswerWork }
  /** Somebody else does it. */
  | { state: 'running'; id: string }
  | { state: 'answered'; answer: KeptAnswer };

/**
 * Which requests with an idempotency key are at work, and what those that have ended were answered with. Answers are
 * remembered for 24 hours, failures are not. The work of a process that died belongs to whoever asks next: at once where its
 * end can be told, else after a lease without a sign of life. All throw GatewayError `upstream_unavailable` where the database
 * does not answer.
 */
export interface KeptAnswers {
  /** @throws GatewayError `idempotency_key_reused` where the key is that of another request. */
  claim(request: AnswerRequest): Promise<AnswerClaim>;
  /**
   * The work has ended with an answer, whose body is in its file. False where it is not kept: the account has no room for it,
   * or the work was taken for dead. Then the next request with the key is a new one.
   */
  keep(work: AnswerWork, answer: AnswerHead & { bytes: number }): Promise<boolean>;
  /** The work has ended, and its answer is not kept. The next request is a new one; those that wait get the failure, if any. */
  release(work: AnswerWork, failure?: GatewayError): Promise<void>;
  /** Resolves when the work has ended or the time is over, with the failure that it ended with. */
  waitFor(id: string, options: WaitOptions): Promise<GatewayError | undefined>;
}

/** Name of the file that the answer of a work is kept in. */
export function answerFileOf({ id }: Pick<AnswerWork, 'id'>): string {
  return `${id}.bin`;
}
