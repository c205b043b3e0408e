/*
 * Work that takes longer than the event loop may be held, on worker threads. A thread does one task at a time, starts
 * when it is needed, and ends when it is idle. The other tasks wait here: their owners take turns, so that one with many
 * large tasks delays another by one of them, and a full queue drops the latest task of the owner with the most, or refuses.
 * A task whose signal aborts leaves the queue, or ends the thread that works on it. A thread that fails, or takes too
 * long, ends with its task alone. Threads do not keep the process alive.
 */

import { Worker } from 'node:worker_threads';

export interface WorkerQueueOptions {
  /** What a thread runs: it answers each message with one. */
  module: URL;
  /** Default 1. */
  threads?: number;
  /** Megabytes of the heap of a thread; bytes are outside it. */
  heapMb: number;
  /** Milliseconds for a task. Default: no limit. */
  timeoutMs?: number;
  /** Milliseconds without a task after which a thread ends. Default: it does not. */
  idleMs?: number;
  /** Tasks that may wait, besides those that a thread works on. */
  maxWaiting: number;
  /** Default: as many as may wait. */
  maxWaitingOfOwner?: number;
  /** The error of a task for which there is no room. */
  full(): Error;
}

export interface QueuedTask<Answer> {
  /** Buffers that are given away with the task. */
  transfer?: ArrayBuffer[];
  /** Default: all tasks have the same. */
  owner?: string;
  signal?: AbortSignal | undefined;
  /** Whether a message is the answer. Default: it is. */
  isAnswer?(message: Answer): boolean;
}

interface Waiting<Task, Answer> extends QueuedTask<Answer>, PromiseWithResolvers<Answer> {
  task: Task;
  owner: string;
}

interface Thread<Task, Answer> {
  worker: Worker;
  current?: Waiting<Task, Answer>;
  /** Ends its task, or its idle time. */
  timer?: NodeJS.Timeout;
}

export class WorkerQueue<Task, Answer> {
  readonly #options: WorkerQueueOptions;
  readonly #threads: Thread<Task, Answer>[] = [];
  /** Owner → their tasks, oldest first. The next owner is first. */
  readonly #waiting = new Map<string, Waiting<Task, Answer>[]>();
  #waitingCount = 0;
  #isClosed = false;

  constructor(options: WorkerQueueOptions) {
    this.#options = options;
  }

  /** @throws The error of a full queue, the reason of the signal, or an error without a meaning for clients. */
  async run(task: Task, how: QueuedTask<Answer> = {}): Promise<Answer> {
    const { signal, owner = '' } = how;
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error('the threads are closed');
    this.#makeRoom(owner);
    const one: Waiting<Task, Answer> = { ...how, ...Promise.withResolvers<Answer>(), task, owner };
    const own = this.#waiting.get(owner);
    if (own) own.push(one);
    else this.#waiting.set(owner, [one]);
    this.#waitingCount += 1;
    const leave = () => this.#remove(one, signal?.reason);
    signal?.addEventListener('abort', leave, { once: true });
    this.#assign();
    try {
      return await one.promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** Ends the threads; what waits fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = new Error('the threads are closed');
    for (const one of [...this.#waiting.values()].flat()) this.#remove(one, closed);
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, closed)));
  }

  #makeRoom(owner: string): void {
    const { maxWaiting, maxWaitingOfOwner = maxWaiting, full } = this.#options;
    const own = this.#waiting.get(owner)?.length ?? 0;
    if (own >= maxWaitingOfOwner) throw full();
    if (this.#waitingCount < maxWaiting) return;
    let longest: Waiting<Task, Answer>[] = [];
    for (const tasks of this.#waiting.values()) if (tasks.length > longest.length) longest = tasks;
    const last = longest.at(-1);
    if (!last || longest.length <= own + 1) throw full();
    this.#remove(last, full());
  }

  #remove(one: Waiting<Task, Answer>, reason: unknown): void {
    const own = this.#waiting.get(one.owner) ?? [];
    const index = own.indexOf(one);
    if (index >= 0) {
      own.splice(index, 1);
      this.#waitingCount -= 1;
      one.reject(reason);
    }
    const thread = this.#threads.find(({ current }) => current === one);
    if (thread) void this.#end(thread, reason);
  }

  #assign(): void {
    while (this.#waitingCount > 0) {
      const { threads: max = 1, timeoutMs } = this.#options;
      const free = this.#threads.find(({ current }) => !current);
      const thread = free ?? (this.#threads.length < max ? this.#start() : undefined);
      const next = thread && this.#takeNext();
      if (!next) return;
      try {
        thread.worker.postMessage(next.task, next.transfer ?? []);
      } catch (error) {
        // What cannot be transferred must not occupy the thread.
        next.reject(error);
        continue;
      }
      thread.current = next;
      clearTimeout(thread.timer);
      const stop = () => void this.#end(thread, new Error('a task of a thread took too long'));
      if (timeoutMs !== undefined) thread.timer = setTimeout(stop, timeoutMs).unref();
    }
  }

  #takeNext(): Waiting<Task, Answer> | undefined {
    for (const [owner, tasks] of this.#waiting) {
      const next = tasks.shift();
      // Moves the owner to the end of the map, behind all others.
      this.#waiting.delete(owner);
      if (tasks.length > 0) this.#waiting.set(owner, tasks);
      if (!next) continue;
      this.#waitingCount -= 1;
      return next;
    }
    return undefined;
  }

  #start(): Thread<Task, Answer> {
    const { module, heapMb, idleMs } = this.#options;
    const worker = new Worker(module, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: heapMb } });
    const thread: Thread<Task, Answer> = { worker };
    this.#threads.push(thread);
    worker.on('message', (message: Answer) => {
      const { current } = thread;
      if (!current || current.isAnswer?.(message) === false) return;
      clearTimeout(thread.timer);
      thread.current = undefined;
      if (idleMs !== undefined) thread.timer = setTimeout(() => void this.#end(thread), idleMs).unref();
      current.resolve(message);
      this.#assign();
    });
    const fail = (cause: unknown) => void this.#end(thread, new Error('a thread ended', { cause }));
    worker.on('error', fail).on('exit', fail);
    // Must follow the listeners, which would undo it: the thread must not keep the process alive.
    worker.unref();
    return thread;
  }

  /** Ends a thread, and with it the task that it works on. */
  async #end(thread: Thread<Task, Answer>, reason?: unknown): Promise<void> {
    const index = this.#threads.indexOf(thread);
    if (index === -1) return;
    this.#threads.splice(index, 1);
    clearTimeout(thread.timer);
    thread.current?.reject(reason);
    this.#assign();
    await thread.worker.terminate();
  }
}
