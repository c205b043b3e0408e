import { type ImageJob, isGatewayError } from 'mediagate';
import { type ErrorContext, encodeError } from '../http/index.js';
import { isOpen } from './image-job.js';

/** Milliseconds between two looks at what becomes of an open job; its end is heard of at once. */
const LOOK_MS = 2_000;
/** Milliseconds without an event after which a comment says that the connection is alive. */
const QUIET_MS = 15_000;
/** For readers that come back by themselves: https://html.spec.whatwg.org/multipage/server-sent-events.html */
const RETRY = Buffer.from('retry: 2000\n\n');
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');
const END = Buffer.from('\n\n');

export interface JobEventsOptions {
  /** As it is when the events begin. */
  job: ImageJob;
  /** Resolves when the job has ended, or so many milliseconds have gone by. */
  wait(timeoutMs: number): Promise<ImageJob>;
  /** Differs where the form of the job does. One line. */
  tagOf(job: ImageJob): string;
  /** The form of the job, JSON in one line. */
  encode(job: ImageJob): AsyncIterable<Uint8Array>;
  /** Ends the events without a word: nobody reads on, or the reader is to come back. */
  signal: AbortSignal;
  request: ErrorContext;
}

/**
 * How a job is now, then how it is each time that has changed, and last how it ended; the id of each event is the tag of what it
 * tells. An event `error` ends them where the job cannot be looked at any more. Throws what `encode` throws.
 */
export async function* imageJobEvents(options: JobEventsOptions): AsyncGenerator<Uint8Array> {
  const { wait, tagOf, encode, signal, request } = options;
  let { job } = options;
  let told: string | undefined;
  let toldAt = performance.now();
  yield RETRY;
  for (;;) {
    const tag = tagOf(job);
    if (tag !== told) {
      yield Buffer.from(`id: ${tag}\ndata: `);
      yield* encode(job);
      yield END;
      told = tag;
      toldAt = performance.now();
    } else if (performance.now() - toldAt >= QUIET_MS) {
      yield KEEP_ALIVE;
      toldAt = performance.now();
    }
    if (!isOpen(job) || signal.aborted) return;
    try {
      job = await wait(LOOK_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (!isGatewayError(error)) throw error;
      yield Buffer.from(`event: error\ndata: ${encodeError(error, request)}\n\n`);
      return;
    }
  }
}
