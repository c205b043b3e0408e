/*
 * Parses large bodies on worker threads: on the main thread, 55 MB of JSON would block all other requests for a third
 * of a second. There are two threads, each started on first use and with at most 512 MB of heap. A thread parses one
 * body at a time. Owners with waiting bodies alternate, so that one account with many large bodies delays another
 * account by one of them. At most 64 bodies wait, 24 of one owner; a full queue drops the latest body of the owner with
 * the most. The bytes are transferred, not copied. A thread that fails is replaced.
 */

import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../core/runtime/index.js';
import type { LargeBody, LargeBodyPlan, Parsed } from './json-body.js';

/** A body for a thread, and how the thread parses it. */
export interface ParseOrder {
  bytes: Uint8Array<ArrayBuffer>;
  plan: LargeBodyPlan;
}

export interface ParseAnswer {
  parsed: Parsed<LargeBody>;
  bytes: Uint8Array<ArrayBuffer>;
}

interface Waiting extends ParseOrder {
  answer: PromiseWithResolvers<ParseAnswer>;
}

interface ParseThread {
  worker: Worker;
  current?: Waiting;
}

const MAX_THREADS = 2;
/** Maximum waiting bodies, over all owners, and of one owner. */
const MAX_WAITING = 64;
const MAX_WAITING_OF_OWNER = 24;
/** Megabytes of a thread's heap. Scanned bodies stay far below it. */
const HEAP_MB = 512;

const threads: ParseThread[] = [];
/** Owner → their bodies, oldest first. The next owner is first. */
const waiting = new Map<string, Waiting[]>();
let waitingCount = 0;

/**
 * Parses a body on another thread.
 * @param bytes Transferred until the answer, which returns them.
 * @throws GatewayError `queue_full` if too many bodies wait.
 */
export function parseInWorker(
  owner: string,
  bytes: Buffer<ArrayBuffer>,
  plan: LargeBodyPlan,
): Promise<{ parsed: Parsed<LargeBody>; bytes: Buffer<ArrayBuffer> }> {
  makeRoom(owner);
  const order: Waiting = { bytes, plan, answer: Promise.withResolvers<ParseAnswer>() };
  const own = waiting.get(owner);
  if (own) own.push(order);
  else waiting.set(owner, [order]);
  waitingCount += 1;
  assignOrders();
  return order.answer.promise.then(({ parsed, bytes }) => ({
    parsed,
    bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  }));
}

/**
 * A full queue drops the latest body of the owner with the most bodies, so that no owner blocks others.
 * @throws GatewayError `queue_full` if it is this owner.
 */
function makeRoom(owner: string): void {
  const own = waiting.get(owner)?.length ?? 0;
  if (own >= MAX_WAITING_OF_OWNER) throw queueFull();
  if (waitingCount < MAX_WAITING) return;
  let longest: Waiting[] = [];
  for (const orders of waiting.values()) if (orders.length > longest.length) longest = orders;
  if (longest.length <= own + 1) throw queueFull();
  waitingCount -= 1;
  longest.pop()?.answer.reject(queueFull());
}

function queueFull(): GatewayError {
  return new GatewayError('queue_full', 'Too many large request bodies wait to be parsed.', { retryAfterSeconds: 1 });
}

function assignOrders(): void {
  while (waitingCount > 0) {
    const thread =
      threads.find(({ current }) => !current) ?? (threads.length < MAX_THREADS ? startThread() : undefined);
    if (!thread) return;
    const order = takeNext();
    if (!order) return;
    const { bytes, plan } = order;
    try {
      thread.worker.postMessage({ bytes, plan } satisfies ParseOrder, [bytes.buffer]);
      thread.current = order;
    } catch (error) {
      // A body that cannot be transferred must not occupy the thread.
      order.answer.reject(error);
    }
  }
}

function takeNext(): Waiting | undefined {
  for (const [owner, orders] of waiting) {
    const order = orders.shift();
    // Moves the owner to the end of the map, behind all others.
    waiting.delete(owner);
    if (orders.length > 0) waiting.set(owner, orders);
    if (!order) continue;
    waitingCount -= 1;
    return order;
  }
  return undefined;
}

function startThread(): ParseThread {
  const worker = new Worker(new URL('./json-thread.js', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const thread: ParseThread = { worker };
  threads.push(thread);
  worker.on('message', (answer: ParseAnswer) => {
    const { current } = thread;
    thread.current = undefined;
    current?.answer.resolve(answer);
    assignOrders();
  });
  const fail = (cause: unknown) => {
    const index = threads.indexOf(thread);
    if (index === -1) return;
    threads.splice(index, 1);
    thread.current?.answer.reject(new Error('the thread that parses bodies ended', { cause }));
    assignOrders();
  };
  worker.on('error', fail).on('exit', fail);
  // Must follow the listeners, which would undo it: the thread must not keep the process alive.
  worker.unref();
  return thread;
}
