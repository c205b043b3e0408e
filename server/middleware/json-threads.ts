import { Worker } from 'node:worker_threads';
import type { JsonBody, Parsed } from './json-body.js';

/** A body for the other thread; its memory goes with it. */
export interface ParseOrder {
  id: number;
  bytes: Uint8Array;
}

export interface ParseAnswer {
  id: number;
  parsed: Parsed<JsonBody>;
}

let thread: Worker | undefined;
let orders = 0;
const waiting = new Map<number, PromiseWithResolvers<Parsed<JsonBody>>>();

/**
 * Understands a large body in another thread: here, 55 MB of JSON would hold up everybody else for a third of a second.
 * @param bytes Given away: the caller cannot use them afterwards.
 */
export function parseElsewhere(bytes: Buffer<ArrayBuffer>): Promise<Parsed<JsonBody>> {
  const settle = Promise.withResolvers<Parsed<JsonBody>>();
  orders += 1;
  waiting.set(orders, settle);
  thread ??= startThread();
  thread.postMessage({ id: orders, bytes } satisfies ParseOrder, [bytes.buffer]);
  return settle.promise;
}

function startThread(): Worker {
  const started = new Worker(new URL('./json-thread.js', import.meta.url), { execArgv: [] });
  started.on('message', ({ id, parsed }: ParseAnswer) => {
    waiting.get(id)?.resolve(parsed);
    waiting.delete(id);
  });
  const fail = (cause: unknown) => {
    if (thread !== started) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(new Error('the thread that parses bodies ended', { cause }));
    waiting.clear();
  };
  started.on('error', fail).on('exit', fail);
  // After the listeners, which would undo it: a thread keeps no process alive.
  started.unref();
  return started;
}
