/*
 * Reads large answers that come in one piece, such as thousands of vectors or the log probabilities of a long text.
 * Reading 32 MB takes a third of a second, longer than the event loop may be held. So the main thread only copies the
 * chunks as they arrive, at most 8 KiB at a time. A worker thread joins and reads them and returns the bytes for the
 * caller; buffers are transferred, not copied. Answers below 256 KiB stay on the main thread. The thread ends after 30
 * seconds without work. The usage of an answer that broke off is estimated from its beginning.
 */

import { Worker } from 'node:worker_threads';
import { GatewayError } from '../runtime/index.js';
import { hasManyValues, sampleAnswer, type WholeAnswer } from './answers.js';
import { type TextSample } from './prompts.js';
import { NO_TEXT, sampleBytes } from './tokens.js';
import type { VectorForm } from './vectors.js';

/** Smaller answers, which nearly all are, are read on the main thread within a few milliseconds. */
const LARGE_BYTES = 256 * 1024;
const PART_BYTES = 1024 * 1024;
/** The thread is ended when it is no longer used. */
const IDLE_MS = 30_000;
/** Megabytes of the thread's heap; the answers are outside it. */
const HEAP_MB = 256;

export interface AnswerTask {
  id: number;
  parts: Uint8Array<ArrayBuffer>[];
  modelText: string;
  isResponse: boolean;
  vectors?: VectorForm;
  /** Whether a sample of the text is taken if no usage was reported. */
  isSampled: boolean;
}

export interface ReadAnswer {
  id: number;
  body: ArrayBuffer;
  offset: number;
  length: number;
  answer?: Omit<WholeAnswer, 'body' | 'sample' | 'refusal'>;
  sample?: TextSample;
  failure?: string;
  isRefused?: boolean;
}

/** The chunks of an answer. */
export class AnswerBytes {
  #chunks: Uint8Array[] = [];
  /** Of a large answer. */
  #parts: Buffer<ArrayBuffer>[] | undefined;
  /** A copy, once the parts are given away. */
  #beginning: Buffer | undefined;
  /** Bytes in the last part. */
  #filled = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get isLarge(): boolean {
    return this.#length > LARGE_BYTES;
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (!this.isLarge) {
      this.#chunks.push(chunk);
      return;
    }
    if (this.#chunks.length > 0) {
      const before = this.#chunks;
      this.#chunks = [];
      for (const one of before) this.#copy(one);
    }
    this.#copy(chunk);
  }

  /** All bytes of an answer that is not large. */
  whole(): Buffer {
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(this.#chunks);
  }

  /** Gives the bytes of a large answer away. */
  take(): Uint8Array<ArrayBuffer>[] {
    const parts = this.#parts ?? [];
    const last = parts.at(-1);
    if (last) parts[parts.length - 1] = last.subarray(0, this.#filled);
    this.#beginning = Buffer.from(parts[0]?.subarray(0, LARGE_BYTES) ?? []);
    this.#parts = undefined;
    return parts;
  }

  /** What the model wrote in an answer that broke off. Of a large one, the rest is estimated by its beginning. */
  sample(isResponse: boolean): TextSample {
    if (!this.isLarge) return sampleAnswer(this.whole(), isResponse);
    const beginning = this.#beginning ?? this.#parts?.[0]?.subarray(0, LARGE_BYTES) ?? Buffer.alloc(0);
    const ratio = this.#length / beginning.length;
    const sample = sampleAnswer(beginning, isResponse);
    const isWritten = sample.text !== '' || hasManyValues(beginning, ratio);
    const { text, scale } = sample.text === '' && isWritten ? sampleBytes([beginning]) : sample;
    return { text, scale: scale * ratio };
  }

  #copy(chunk: Uint8Array): void {
    this.#parts ??= [];
    const parts = this.#parts;
    for (let done = 0; done < chunk.length; ) {
      let part = parts.at(-1);
      if (!part || this.#filled === PART_BYTES) {
        part = Buffer.allocUnsafeSlow(PART_BYTES);
        parts.push(part);
        this.#filled = 0;
      }
      const length = Math.min(chunk.length - done, PART_BYTES - this.#filled);
      part.set(chunk.subarray(done, done + length), this.#filled);
      this.#filled += length;
      done += length;
    }
  }
}

const waiting = new Map<number, PromiseWithResolvers<ReadAnswer>>();
let thread: Worker | undefined;
let tasks = 0;
let idle: NodeJS.Timeout | undefined;

function start(): Worker {
  const started = new Worker(new URL('./answer-thread.js', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  started.on('message', (read: ReadAnswer) => {
    waiting.get(read.id)?.resolve(read);
    waiting.delete(read.id);
    if (waiting.size > 0) return;
    idle = setTimeout(() => {
      thread = undefined;
      void started.terminate();
    }, IDLE_MS);
    idle.unref();
  });
  const fail = (cause: unknown) => {
    if (thread !== started) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(new Error('the thread that reads answers ended', { cause }));
    waiting.clear();
  };
  started.on('error', fail).on('exit', fail);
  // Must follow the listeners, which would undo it: the thread must not keep the process alive.
  started.unref();
  return started;
}

/**
 * Reads a large answer in the worker thread, as {@link readWholeAnswer} does; an upstream's words about a failure are
 * replaced.
 * @throws GatewayError `upstream_error` if it is no JSON object.
 */
export async function readLargeAnswer(
  bytes: AnswerBytes,
  how: Pick<AnswerTask, 'isResponse' | 'isSampled' | 'vectors'> & { modelText: Buffer },
): Promise<WholeAnswer> {
  clearTimeout(idle);
  thread ??= start();
  const answered = Promise.withResolvers<ReadAnswer>();
  tasks += 1;
  waiting.set(tasks, answered);
  const parts = bytes.take();
  const { modelText, isResponse, isSampled, vectors } = how;
  const task: AnswerTask = {
    ...{ id: tasks, parts, modelText: modelText.toString(), isResponse, isSampled },
    ...(vectors && { vectors }),
  };
  thread.postMessage(
    task,
    parts.map(({ buffer }) => buffer),
  );
  const { body, offset, length, answer, sample = NO_TEXT, failure, isRefused } = await answered.promise;
  const refusal = failure === undefined ? undefined : new GatewayError('upstream_error', failure);
  if (refusal && !isRefused) throw refusal;
  if (!answer) throw new Error('a thread lost an answer');
  return { ...answer, body: Buffer.from(body, offset, length), sample: () => sample, ...(refusal && { refusal }) };
}
