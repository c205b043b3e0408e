/*
 * Runs `mediagate serve` as several processes behind one port. The supervisor does no work of the gateway: it hands
 * connections to its workers in turn, starts a dead worker again, passes messages between them, and writes their
 * output.
 *
 * The first worker starts alone. It migrates the database, creates secrets, and prints the address; if it cannot start,
 * the supervisor ends with its exit code. The others follow when it is ready. It alone runs jobs, webhooks and the
 * sweeps of orders and erasures; while it is down, jobs wait for it, or for another node. A worker that ends is started
 * again after half a second, and after twice as long each time until it has run for a minute. SIGTERM and SIGINT end
 * all workers, each finishing its requests, and the port closes when the last one wants no more connections; a second
 * signal kills them. SIGHUP replaces the workers one after the other: a new one, with today's code and files, takes
 * connections before the old one gets no more. If the new one cannot start, the old ones stay. The workers of a
 * supervisor that is killed finish their requests and end.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../core/runtime/index.js';
import { type Claimant, Claims } from './claims.js';
import {
  PLACE_VARIABLE,
  type PortName,
  SAME_SIGNAL_MS,
  type WorkerMessage,
  type WorkerPlace,
  type WorkerState,
} from './messages.js';
import { copyLines } from './output.js';
import { Ports, type Taker } from './ports.js';
import { type AddEnded, type Asked, Questions } from './questions.js';
import { takerOf } from './taker.js';

const FIRST_RESTART_MS = 500;
const LAST_RESTART_MS = 30_000;
/** A worker that has run for so long was healthy: its next restart is quick again. */
const HEALTHY_MS = 60_000;
/** Milliseconds for a successor to become ready. The first start, with its migrations, has no limit. */
const REPLACE_MS = 120_000;

export interface SupervisorOptions {
  /** Number of workers. */
  count: number;
  environment: NodeJS.ProcessEnv;
  /** Where to listen; without `metrics` there is no such port. */
  ports: Readonly<Partial<Record<PortName, { host: string; port: number }>>>;
  /** Adds up what workers that have ended had answered to questions of others. */
  addEnded: AddEnded;
  /** Receives what the operator should know. Default: standard error. */
  report?(message: string): void;
}

/** One process that serves, or did. */
interface Worker extends Asked, Claimant {
  readonly place: Place;
  readonly child: ChildProcess;
  readonly taker: Taker;
  readonly startedAt: number;
  isReady: boolean;
  /** Resolves with undefined when it is ready, or with its exit code if it ends before that. */
  readonly ready: Promise<number | undefined>;
}

/** One place among the workers. */
interface Place {
  readonly index: number;
  state: WorkerState['state'];
  /** The process that has it. */
  worker?: Worker;
  restarts: number;
  restartMs: number;
}

/**
 * Serves with several workers until a signal. Resolves with the exit code.
 * @throws Error of the system if it cannot listen.
 */
export async function supervise(options: SupervisorOptions): Promise<number> {
  const ports = new Ports();
  const numbers: Partial<Record<PortName, number>> = {};
  for (const [name, at] of Object.entries(options.ports) as [PortName, { host: string; port: number }][]) {
    numbers[name] = await ports.open(name, at);
  }
  return new Supervisor(options, ports, numbers).run();
}

class Supervisor {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #report: (message: string) => void;
  readonly #ports: Ports;
  readonly #numbers: WorkerPlace['ports'];
  readonly #questions: Questions;
  readonly #claims = new Claims();
  readonly #places: readonly Place[];
  /** Every process that has not ended yet. */
  readonly #running = new Set<Worker>();
  readonly #ended = Promise.withResolvers<number>();
  #exitCode = 0;
  #stoppedAt: number | undefined;
  #reloading: Promise<void> | undefined;

  constructor(options: SupervisorOptions, ports: Ports, numbers: WorkerPlace['ports']) {
    const { count, environment, report = (message) => process.stderr.write(`${message}\n`) } = options;
    this.#environment = environment;
    this.#report = report;
    this.#ports = ports;
    this.#numbers = numbers;
    this.#questions = new Questions(options.addEnded);
    this.#places = Array.from({ length: count }, (_, position) => ({
      index: position + 1,
      state: 'down',
      restarts: 0,
      restartMs: FIRST_RESTART_MS,
    }));
  }

  async run(): Promise<number> {
    process.on('SIGINT', () => this.#stop('SIGINT'));
    process.on('SIGTERM', () => this.#stop('SIGTERM'));
    // A terminal that is closed sends SIGHUP as well, and then the gateway has no operator who could stop it.
    process.on('SIGHUP', () => (process.stdin.isTTY ? this.#stop('SIGTERM') : this.#reload()));
    const [first, ...others] = this.#places;
    if (!first) throw new RangeError('A supervisor needs at least one worker.');
    const failure = await this.#start(first, true).ready;
    if (failure !== undefined) {
      await this.#ports.close();
      return failure;
    }
    for (const place of others) void this.#keep(place);
    return this.#ended.promise;
  }

  #start(place: Place, announces = false): Worker {
    const { index } = place;
    const { length: count } = this.#places;
    const assigned: WorkerPlace = { index, count, background: index === 1, announces, ports: this.#numbers };
    // The output of a worker is a pipe, which does not tell who reads it.
    const LOG_FORMAT = this.#environment.LOG_FORMAT ?? (process.stderr.isTTY ? 'text' : 'json');
    const [, program = ''] = process.argv;
    const child = fork(program, process.argv.slice(2), {
      env: { ...this.#environment, LOG_FORMAT, [PLACE_VARIABLE]: JSON.stringify(assigned) },
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    copyLines(child.stdout, process.stdout);
    copyLines(child.stderr, process.stderr);
    const ready = Promise.withResolvers<number | undefined>();
    const taker = takerOf(child);
    const worker: Worker = {
      place,
      child,
      taker,
      startedAt: systemClock.monotonic(),
      isReady: false,
      ready: ready.promise,
      // Messages for a process that has just ended are lost with it.
      send: (message) => void (child.connected && child.send(message, () => {})),
    };
    this.#running.add(worker);
    place.worker = worker;
    place.state = 'starting';
    // Before its first connection: a worker that knows of no others would say that all of them work.
    worker.send({ type: 'states', states: this.#states() });
    child.on('message', (message: WorkerMessage) => {
      if (message.type !== 'ready') return this.#receive(worker, message);
      worker.isReady = true;
      this.#ports.add(taker);
      if (place.worker === worker) place.state = 'ready';
      ready.resolve(undefined);
      this.#sendStates();
    });
    // A broken channel, or no process at all; what counts is that it ended.
    child.on('error', () => {});
    child.once('close', (code, signal) => {
      const exitCode = code ?? 128 + (signal ? constants.signals[signal] : 1);
      const wasReady = place.worker === worker && place.state === 'ready';
      ready.resolve(exitCode);
      this.#exited(worker, exitCode, wasReady);
    });
    return worker;
  }

  /** Starts a worker, and again until it is ready, unless the gateway stops. */
  async #keep(place: Place): Promise<void> {
    while (this.#stoppedAt === undefined) {
      const worker = this.#start(place);
      if ((await worker.ready) === undefined) return;
      await this.#beforeRestart(worker);
    }
  }

  /** Reports the end of a worker and waits, unless the gateway stops. The wait gets longer while the worker keeps ending. */
  async #beforeRestart({ place, startedAt }: Worker): Promise<void> {
    if (this.#stoppedAt !== undefined) return;
    if (systemClock.monotonic() - startedAt > HEALTHY_MS) place.restartMs = FIRST_RESTART_MS;
    this.#report(`Worker ${place.index} ended. It starts again in ${place.restartMs / 1000} s.`);
    await sleep(place.restartMs, undefined, { ref: false });
    place.restarts += 1;
    place.restartMs = Math.min(place.restartMs * 2, LAST_RESTART_MS);
  }

  #exited(worker: Worker, exitCode: number, wasReady: boolean): void {
    const { place, taker } = worker;
    this.#running.delete(worker);
    this.#questions.forget(worker);
    this.#claims.forget(worker);
    this.#ports.remove(taker);
    if (place.worker === worker) {
      place.worker = undefined;
      place.state = 'down';
      this.#sendStates();
      if (wasReady && this.#stoppedAt === undefined) void this.#beforeRestart(worker).then(() => this.#keep(place));
    }
    if (this.#stoppedAt === undefined) return;
    // One that was still starting has no handler of the signal yet, and no requests either.
    if (worker.isReady) this.#exitCode ||= exitCode;
    if (this.#running.size === 0) void this.#end();
  }

  async #end(): Promise<void> {
    await this.#ports.close();
    this.#ended.resolve(this.#exitCode);
  }

  /** Gives a worker no more connections. When the gateway stops, the port closes with the last worker. */
  async #leave(worker: Worker): Promise<void> {
    // The last one still gets the connections that arrive until the port is closed.
    if (this.#stoppedAt !== undefined && this.#ports.isLast(worker.taker)) await this.#ports.close();
    this.#ports.remove(worker.taker);
    worker.send({ type: 'left' });
  }

  #stop(signal: 'SIGINT' | 'SIGTERM'): void {
    const now = systemClock.monotonic();
    if (this.#stoppedAt === undefined) {
      this.#stoppedAt = now;
      for (const { child } of this.#running) child.kill(signal);
      if (this.#running.size === 0) void this.#end();
    } else if (now - this.#stoppedAt > SAME_SIGNAL_MS) {
      for (const { child } of this.#running) child.kill('SIGKILL');
      process.exit(1);
    }
  }

  /** Replaces the workers one after the other. A signal during that is for one more round. */
  #reload(): void {
    const before = this.#reloading ?? Promise.resolve();
    this.#reloading = before.then(async () => {
      if (this.#stoppedAt !== undefined) return;
      this.#report('Reloading: each worker is replaced when its successor is ready.');
      for (const place of this.#places) {
        if (await this.#replace(place)) continue;
        this.#report('Not reloaded: a new worker could not start. The old ones still serve.');
        return;
      }
      this.#report('Reloaded.');
    });
  }

  /** True when the successor is ready, or none is needed. */
  async #replace(place: Place): Promise<boolean> {
    const old = place.worker;
    // One that is down or starting has today's code, or will have it.
    if (!old || place.state !== 'ready' || this.#stoppedAt !== undefined) return true;
    const successor = this.#start(place);
    const timer = setTimeout(() => successor.child.kill('SIGKILL'), REPLACE_MS);
    const failure = await successor.ready;
    clearTimeout(timer);
    if (failure === undefined) {
      old.send({ type: 'retire' });
      return true;
    }
    if (this.#running.has(old)) {
      place.worker = old;
      place.state = 'ready';
      this.#sendStates();
    } else void this.#keep(place);
    return false;
  }

  #receive(worker: Worker, message: Exclude<WorkerMessage, { type: 'ready' }>): void {
    // Retired ones too: requests there wait for jobs, and what they have counted is not over.
    const others = () => [...this.#running].filter((other) => other !== worker && other.isReady);
    switch (message.type) {
      case 'leaving':
        void this.#leave(worker);
        return;
      case 'post':
        for (const other of others()) other.send({ type: 'posted', topic: message.topic, payload: message.payload });
        return;
      case 'ask':
        this.#questions.ask(worker, message, others());
        return;
      case 'answer':
        this.#questions.answer(worker, message.question, message.answer);
        return;
      case 'claim':
        this.#claims.claim(worker, message);
        return;
      case 'release':
        this.#claims.release(worker, message);
        return;
      case 'last':
        this.#questions.remember(worker, message.topic, message.answer);
    }
  }

  #states(): readonly WorkerState[] {
    return this.#places.map(({ index, worker, state, restarts }) => ({
      index,
      pid: worker?.child.pid ?? 0,
      state,
      restarts,
    }));
  }

  #sendStates(): void {
    const states = this.#states();
    for (const { worker } of this.#places) worker?.send({ type: 'states', states });
  }
}
