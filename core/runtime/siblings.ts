/*
 * The other processes of this machine that serve the same port, as parts of the gateway see them: a way to send them
 * hints, and to ask them. A hint is lost if a process ends; what must be exact is in the database. A gateway of one
 * process has no siblings, and pays nothing.
 */

/** Hints between processes of one machine. One is lost if its sender or receiver ends. */
export interface Hints {
  /** Tells all others, in the order of the calls of this process. The payload is cloned by structure. */
  post(topic: string, payload?: unknown): void;
  /** Receives what others post on a topic. */
  on(topic: string, listener: (payload: unknown) => void): void;
}

/** The other processes of this machine that serve the same port. */
export interface Siblings extends Hints {
  /**
   * The answers of the others to a question. Those that do not answer within two seconds are left out.
   * @param own The answer of this process, which is remembered when it has ended.
   */
  ask(topic: string, own: unknown): Promise<SiblingAnswers>;
  /** Answers the questions of others on a topic. */
  answer(topic: string, reply: () => unknown): void;
  /**
   * Claims work that one process does for all. Resolves at once if no other does it, and else when that one has released
   * it, has ended, or has not done so for 15 seconds.
   */
  claim(name: string): Promise<Claim>;
}

/** A claim on work. */
export interface Claim {
  /** Set if this process has the work. It must be called once, with what the others are told. */
  release?(left?: unknown): void;
  /** What the process that had the work told; undefined if it ended before. */
  left?: unknown;
}

export interface SiblingAnswers {
  /** Of the others that run. */
  readonly running: readonly unknown[];
  /** The last answers of processes that have ended, added up; undefined if none has. */
  readonly ended?: unknown;
}

/** The siblings of a process that serves its port alone. */
export const noSiblings: Siblings = {
  post() {},
  on() {},
  ask: async () => ({ running: [] }),
  answer() {},
  claim: async () => ({ release() {} }),
};
