/*
 * Parses large bodies on two worker threads: on the main thread, 55 MB of JSON would block all other requests for a third
 * of a second. Accounts take turns, so that one with many large bodies delays another by one of them. At most 64 bodies
 * wait, 24 of one owner. The bytes are transferred, not copied.
 */

import { GatewayError, WorkerQueue } from '../../../core/runtime/index.js';
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

/** Megabytes of a thread's heap. Scanned bodies stay far below it. */
const HEAP_MB = 512;

const threads = new WorkerQueue<ParseOrder, ParseAnswer>({
  module: new URL('./json-thread.js', import.meta.url),
  threads: 2,
  heapMb: HEAP_MB,
  maxWaiting: 64,
  maxWaitingOfOwner: 24,
  full: () =>
    new GatewayError('queue_full', 'Too many large request bodies wait to be parsed.', { retryAfterSeconds: 1 }),
});

/**
 * Parses a body on another thread.
 * @param bytes Transferred until the answer, which returns them.
 * @throws GatewayError `queue_full` if too many bodies wait.
 */
export async function parseInWorker(
  owner: string,
  bytes: Buffer<ArrayBuffer>,
  plan: LargeBodyPlan,
): Promise<{ parsed: Parsed<LargeBody>; bytes: Buffer<ArrayBuffer> }> {
  const { parsed, bytes: read } = await threads.run({ bytes, plan }, { owner, transfer: [bytes.buffer] });
  return { parsed, bytes: Buffer.from(read.buffer, read.byteOffset, read.byteLength) };
}
