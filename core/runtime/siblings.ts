/*
 * The other processes of this machine that serve the same port, as parts of the gateway see them: a way to send them
 * hints, and to ask them. A hint is lost if a process ends; what must be exact is in the database. A gateway of one
 * process has no siblings, and pays nothing.
 */

/** The other processes of this machine that serve the same port. */
export interface Siblings {
  /** Tells all others, in the order of the calls of this process. */
  post(topic: string, payload?: unknown): void;
  /** Receives what others post on a topic. */
  on(topic: string, listener: (payload: unknown) => void): void;
  /**
   * The answers of the others to a question. Those that do not answer within two seconds are left out.
   * @param own The answer of this process, which is remembered when it has ended.
   */
  ask(topic: string, own: unknown): Promise<SiblingAnswers>;
  /** Answers the questions of others on a topic. */
  answer(topic: string, reply: () => unknown): void;
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
};
