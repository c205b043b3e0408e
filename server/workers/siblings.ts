/*
 * What a worker knows of the others, through its supervisor: messages to all of them and from them, questions, claims
 * of work, and their states; the connections that it is given; and how it leaves. Beyond 10,000 messages that the
 * channel has not taken yet, further ones are dropped: they are hints, and a supervisor that hangs must not fill the
 * memory of its workers.
 */

import type { Socket } from 'node:net';
import type { Claim, SiblingAnswers, Siblings } from '../../core/runtime/index.js';
import type { PortName, SupervisorMessage, WorkerMessage, WorkerState } from './messages.js';

const MAX_WAITING = 10_000;
/** Milliseconds for the supervisor to answer, which itself waits for two seconds at most. */
const ANSWER_MS = 4_000;

/** Milliseconds for another worker to do what both have claimed. */
const CLAIM_MS = 15_000;

type Listener = (payload: unknown) => void;

/** The siblings of this process, which a supervisor started, and its way to the supervisor. */
export class WorkerSiblings implements Siblings {
  readonly #listeners = new Map<string, Listener[]>();
  readonly #repliers = new Map<string, () => unknown>();
  readonly #questions = new Map<number, (answers: SiblingAnswers) => void>();
  readonly #claims = new Map<number, (claim: Claim) => void>();
  readonly #left = Promise.withResolvers<void>();
  #states: readonly WorkerState[] = [];
  #waiting = 0;
  #asked = 0;
  #claimed = 0;
  #accept: (port: PortName, socket: Socket) => void = (_port, socket) => socket.destroy();

  constructor() {
    process.on('message', (message: SupervisorMessage, socket?: Socket) => this.#receive(message, socket));
    process.once('disconnect', () => {
      this.#left.resolve();
      for (const end of this.#claims.values()) end({ release() {} });
    });
  }

  post(topic: string, payload?: unknown): void {
    this.#send({ type: 'post', topic, payload });
  }

  on(topic: string, listener: Listener): void {
    const present = this.#listeners.get(topic);
    if (present) present.push(listener);
    else this.#listeners.set(topic, [listener]);
  }

  ask(topic: string, own: unknown): Promise<SiblingAnswers> {
    this.#asked += 1;
    const question = this.#asked;
    return new Promise((resolve) => {
      const end = (answers: SiblingAnswers) => {
        clearTimeout(timer);
        this.#questions.delete(question);
        resolve(answers);
      };
      const timer = setTimeout(() => end({ running: [] }), ANSWER_MS);
      this.#questions.set(question, end);
      this.#send({ type: 'ask', question, topic, own });
    });
  }

  answer(topic: string, reply: () => unknown): void {
    this.#repliers.set(topic, reply);
  }

  claim(name: string): Promise<Claim> {
    if (!process.connected) return Promise.resolve({ release() {} });
    this.#claimed += 1;
    const claim = this.#claimed;
    return new Promise((resolve) => {
      const end = (answer: Claim) => {
        clearTimeout(timer);
        this.#claims.delete(claim);
        resolve(answer);
      };
      const timer = setTimeout(() => end({ release() {} }), CLAIM_MS);
      this.#claims.set(claim, end);
      this.#send({ type: 'claim', claim, name });
    });
  }

  /** All workers of the machine as the supervisor last described them. */
  states(): readonly WorkerState[] {
    return this.#states;
  }

  /** From now on the supervisor gives connections to this worker. */
  takeConnections(accept: (port: PortName, socket: Socket) => void): void {
    this.#accept = accept;
    this.#send({ type: 'ready' });
  }

  /** Resolves when no further connection will arrive here. */
  leave(): Promise<void> {
    this.#send({ type: 'leaving' });
    return this.#left.promise;
  }

  /** Leaves the answers of this worker to the supervisor, for questions after its end. */
  async bequeath(): Promise<void> {
    for (const [topic, reply] of this.#repliers) this.#send({ type: 'last', topic, answer: await reply() });
  }

  /** Called when a successor takes connections. */
  onRetire(listener: () => void): void {
    process.on('message', ({ type }: SupervisorMessage) => {
      if (type === 'retire') listener();
    });
  }

  /** Called when the supervisor is gone, and its ports with it. */
  onOrphaned(listener: () => void): void {
    process.once('disconnect', listener);
  }

  #receive(message: SupervisorMessage, socket?: Socket): void {
    switch (message.type) {
      case 'connection':
        this.#send({ type: 'taken', number: message.number });
        // Gone if the client has closed it meanwhile.
        if (socket) this.#accept(message.port, socket);
        return;
      case 'posted':
        for (const listener of this.#listeners.get(message.topic) ?? []) listener(message.payload);
        return;
      case 'asked':
        void this.#reply(message);
        return;
      case 'answers':
        this.#questions.get(message.question)?.(message.answers);
        return;
      case 'claimed':
        this.#endClaim(message);
        return;
      case 'states':
        this.#states = message.states;
        return;
      case 'left':
        this.#left.resolve();
    }
  }

  /** A question without a reply is answered by the deadline of who asked. */
  async #reply({ question, topic }: Extract<SupervisorMessage, { type: 'asked' }>): Promise<void> {
    const reply = this.#repliers.get(topic);
    if (reply) this.#send({ type: 'answer', question, answer: await reply() });
  }

  #endClaim({ claim, name, isMine, left }: Extract<SupervisorMessage, { type: 'claimed' }>): void {
    const end = this.#claims.get(claim);
    const release = (outcome?: unknown) => this.#send({ type: 'release', name, left: outcome });
    if (end) end(isMine ? { release } : { left });
    else if (isMine) release();
  }

  #send(message: WorkerMessage): void {
    if (!process.connected || (message.type === 'post' && this.#waiting >= MAX_WAITING)) return;
    this.#waiting += 1;
    process.send?.(message, undefined, undefined, () => {
      this.#waiting -= 1;
    });
  }
}
