/*
 * Work on large texts, such as the translation of an answer of many megabytes. It takes longer than the event loop may be
 * held, so a worker thread does it. Bytes go there and back without a copy, everything else as plain values.
 * A client that leaves takes its text out of the line, or ends the thread that works on it.
 */

import { type ErrorCode, GatewayError, WorkerQueue } from '../runtime/index.js';

/** Smaller texts, which nearly all are, are worked on at once, within a few milliseconds. */
export const LARGE_TEXT = 256 * 1024;
/** Texts that wait for the thread. */
const MAX_WAITING = 64;
/** The thread is ended when it is no longer used. */
const IDLE_MS = 30_000;
/** Far more than any text takes. */
const MAX_WORK_MS = 30_000;
/** Megabytes of the thread's heap; the bytes are outside it. */
const HEAP_MB = 1_024;

/** What can be done in the thread. */
export interface Work<How, More extends object> {
  /** `import.meta.url` of the module that exports the function. */
  module: string;
  /** Under which it is exported: the bundle may have renamed it. */
  name: string;
  /** Pure. Gets, and returns besides the body, what can be cloned: plain values, maps and sets. */
  run(bytes: Buffer, how: How): string | Worked<More>;
}

export type Worked<More extends object> = { body: string | Uint8Array } & More;

type Done<More extends object> = More & { body: Buffer };

export interface WorkTask {
  module: string;
  name: string;
  parts: Uint8Array<ArrayBuffer>[];
  how: unknown;
}

export interface DoneWork {
  body?: Uint8Array<ArrayBuffer>;
  more?: object;
  /** Without a code, it is no error that a caller may read. */
  failure?: { code?: ErrorCode; message: string; param?: string };
}

const thread = new WorkerQueue<WorkTask, DoneWork>({
  module: new URL('./large-work-thread.js', import.meta.url),
  heapMb: HEAP_MB,
  timeoutMs: MAX_WORK_MS,
  idleMs: IDLE_MS,
  maxWaiting: MAX_WAITING,
  full: () => new GatewayError('queue_full', 'Too many large texts wait to be converted.', { retryAfterSeconds: 1 }),
});

/**
 * Does the work in the thread. The parts are given away.
 * @param signal Frees the thread, or the place in the line.
 * @throws GatewayError as the function does; `queue_full` if too many wait.
 */
export async function workInThread<How, More extends object>(
  { module, name }: Work<How, More>,
  parts: Uint8Array<ArrayBuffer>[],
  how: How,
  signal?: AbortSignal,
): Promise<Done<More>> {
  const transfer = parts.map(({ buffer }) => buffer);
  const { body, more, failure } = await thread.run({ module, name, parts, how }, { transfer, signal });
  if (failure?.code) throw new GatewayError(failure.code, failure.message, paramOf(failure));
  if (!body) throw new Error('the thread for large texts failed', { cause: failure?.message });
  return { ...(more as More), body: bytesOf(body) };
}

/** Works on a short text at once, and on a copy of a large one in the thread. */
export function workOn<How, More extends object>(
  work: Work<How, More>,
  bytes: Uint8Array,
  how: How,
  signal?: AbortSignal,
): Done<More> | Promise<Done<More>> {
  if (bytes.length > LARGE_TEXT) return workInThread(work, [new Uint8Array(bytes)], how, signal);
  const result = work.run(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), how);
  const { body, ...more } = typeof result === 'string' ? { body: result } : result;
  return { ...(more as unknown as More), body: bytesOf(body) };
}

function bytesOf(body: string | Uint8Array): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function paramOf({ param }: { param?: string }): { param?: string } {
  return param === undefined ? {} : { param };
}
