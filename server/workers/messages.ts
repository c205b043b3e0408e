/*
 * What the supervisor and its workers tell each other over the channel that Node opens between them. Messages are
 * cloned by structure, so they may carry bytes. They arrive in the order in which they were sent, connections included,
 * so after `left` no connection is on its way to that worker.
 */

import type { SiblingAnswers } from '../../core/runtime/index.js';

/** The ports of the gateway: that of the product, and that of its metrics. */
export type PortName = 'product' | 'metrics';

/** What a process is among the workers of a machine; its supervisor says so in the environment. */
export interface WorkerPlace {
  /** From 1. A replacement has the index of the worker that it replaces. */
  readonly index: number;
  /** Workers of this machine. */
  readonly count: number;
  /** Whether it runs what no request waits for: jobs, sweeps, webhooks. */
  readonly background: boolean;
  /** Whether it is the first one of a start, which prints the address. */
  readonly announces: boolean;
  /** Port numbers on which the supervisor listens. */
  readonly ports: Readonly<Partial<Record<PortName, number>>>;
}

/** One worker as its supervisor knows it. */
export interface WorkerState {
  index: number;
  pid: number;
  /** `starting` until it takes connections; `down` until it is started again. */
  state: 'starting' | 'ready' | 'down';
  /** How often it ended without being asked to, and was started again. */
  restarts: number;
}

export type WorkerMessage =
  /** It takes connections. */
  | { type: 'ready' }
  /** It has the connection of this number. */
  | { type: 'taken'; number: number }
  /** It wants no more connections, and waits for `left`. */
  | { type: 'leaving' }
  /** For all others. */
  | { type: 'post'; topic: string; payload: unknown }
  /** For all others, whose answers come back as `answers`. */
  | { type: 'ask'; question: number; topic: string; own: unknown }
  | { type: 'answer'; question: number; answer: unknown }
  /** For work that one worker does for all; `claimed` follows. */
  | { type: 'claim'; claim: number; name: string }
  /** The work is done; `left` is for those that wait. */
  | { type: 'release'; name: string; left?: unknown }
  /** What it would answer on a topic, before it ends. */
  | { type: 'last'; topic: string; answer: unknown };

export type SupervisorMessage =
  /** Comes with a socket, from which nothing was read. */
  | { type: 'connection'; port: PortName; number: number }
  | { type: 'posted'; topic: string; payload: unknown }
  | { type: 'asked'; question: number; topic: string }
  | { type: 'answers'; question: number; answers: SiblingAnswers }
  | { type: 'claimed'; claim: number; name: string; isMine: boolean; left?: unknown }
  | { type: 'states'; states: readonly WorkerState[] }
  /** A successor takes connections, so it ends when its requests and connections have. */
  | { type: 'retire' }
  /** It gets no more connections. */
  | { type: 'left' };

/** Milliseconds within which two signals are one: a terminal and a parent process may both send Ctrl-C. */
export const SAME_SIGNAL_MS = 500;

/** Holds {@link WorkerPlace} as JSON. No setting: only a supervisor sets it. */
export const PLACE_VARIABLE = 'MEDIAGATE_WORKER';

/** The place that a supervisor gave this process; undefined for a process without one. */
export function placeOf(environment: NodeJS.ProcessEnv): WorkerPlace | undefined {
  const place = environment[PLACE_VARIABLE];
  return place === undefined || process.send === undefined ? undefined : JSON.parse(place);
}
