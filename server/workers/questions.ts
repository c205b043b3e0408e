/*
 * Questions of one worker to all others, which the supervisor passes on. It remembers the last answer of each worker on
 * each topic. When a worker ends, that answer is added to those of the workers that ended before it: the sum over
 * all workers that a reader has seen never falls.
 */

import type { SiblingAnswers } from '../../core/runtime/index.js';
import type { SupervisorMessage } from './messages.js';

/** Milliseconds for the others to answer. */
const ANSWER_MS = 2_000;

/** A worker that can be asked. */
export interface Asked {
  send(message: SupervisorMessage): void;
}

/**
 * Adds the last answer of a worker that has ended to those of others; `before` is undefined for the first one. Undefined
 * for a topic whose answers end with their worker.
 */
export type AddEnded = (topic: string, before: unknown, last: unknown) => unknown;

interface Question {
  topic: string;
  /** Who has not answered yet. */
  missing: Set<Asked>;
  running: unknown[];
  end(): void;
}

export class Questions {
  readonly #addEnded: AddEnded;
  readonly #open = new Map<number, Question>();
  readonly #last = new Map<Asked, Map<string, unknown>>();
  /** By topic. */
  readonly #ended = new Map<string, unknown>();
  #count = 0;

  constructor(addEnded: AddEnded) {
    this.#addEnded = addEnded;
  }

  /** Asks the others, and sends their answers to the worker that asked. */
  ask(asker: Asked, asked: { question: number; topic: string; own: unknown }, others: readonly Asked[]): void {
    const { topic } = asked;
    this.#count += 1;
    const id = this.#count;
    this.remember(asker, topic, asked.own);
    const end = () => {
      clearTimeout(timer);
      this.#open.delete(id);
      const answers: SiblingAnswers = { running: question.running, ended: this.#ended.get(topic) };
      asker.send({ type: 'answers', question: asked.question, answers });
    };
    const timer = setTimeout(end, ANSWER_MS);
    const question: Question = { topic, missing: new Set(others), running: [], end };
    this.#open.set(id, question);
    for (const other of others) other.send({ type: 'asked', question: id, topic });
    if (others.length === 0) end();
  }

  answer(from: Asked, id: number, answer: unknown): void {
    const question = this.#open.get(id);
    if (!question?.missing.delete(from)) return;
    this.remember(from, question.topic, answer);
    question.running.push(answer);
    if (question.missing.size === 0) question.end();
  }

  /** A worker has ended. */
  forget(worker: Asked): void {
    for (const [topic, last] of this.#last.get(worker) ?? []) {
      this.#ended.set(topic, this.#addEnded(topic, this.#ended.get(topic), last));
    }
    this.#last.delete(worker);
    for (const question of [...this.#open.values()]) {
      if (question.missing.delete(worker) && question.missing.size === 0) question.end();
    }
  }

  /** Keeps an answer for the time when the worker has ended. */
  remember(worker: Asked, topic: string, answer: unknown): void {
    const answers = this.#last.get(worker) ?? new Map<string, unknown>();
    this.#last.set(worker, answers.set(topic, answer));
  }
}
