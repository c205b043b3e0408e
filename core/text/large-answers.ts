/*
 * Gathers large answers that come in one piece, such as thousands of vectors or the log probabilities of a long text, and
 * has them read in the thread of `large-work.ts`. Reading 32 MB takes a third of a second, longer than the event loop may be
 * held. So the main thread only copies the chunks as they arrive, at most 8 KiB at a time; buffers are transferred, not
 * copied. Answers below 256 KiB stay on the main thread. The usage of an answer that broke off is estimated from its
 * beginning.
 */

import { GatewayError, isGatewayError } from '../runtime/index.js';
import { hasManyValues, readWholeAnswer, sampleAnswer, type WholeAnswer } from './answers.js';
import type { TextSample } from './counting/prompts.js';
import { NO_TEXT, sampleBytes } from './counting/written-text.js';
import { LARGE_TEXT, workInThread } from './large-work.js';
import type { VectorForm } from './vectors.js';

const PART_BYTES = 1024 * 1024;

interface HowToRead {
  modelText: string;
  isResponse: boolean;
  vectors?: VectorForm;
  /** Whether a sample of the text is taken if no usage was reported. */
  isSampled: boolean;
}

interface ReadAnswer {
  answer: Omit<WholeAnswer, 'body' | 'sample' | 'refusal'>;
  sample?: TextSample;
  /** Message of the refusal. */
  refused?: string;
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
    return this.#length > LARGE_TEXT;
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
    this.#beginning = Buffer.from(parts[0]?.subarray(0, LARGE_TEXT) ?? []);
    this.#parts = undefined;
    return parts;
  }

  /** What the model wrote in an answer that broke off. Of a large one, the rest is estimated by its beginning. */
  sample(isResponse: boolean): TextSample {
    if (!this.isLarge) return sampleAnswer(this.whole(), isResponse);
    const beginning = this.#beginning ?? this.#parts?.[0]?.subarray(0, LARGE_TEXT) ?? Buffer.alloc(0);
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

/** The main thread knows what callers must not read; here, an upstream's words are left out. */
const plainWords = () => 'The model reported a failure.';

/** Runs in the thread. */
export function readAnswer(
  bytes: Buffer,
  { modelText, isResponse, isSampled, vectors }: HowToRead,
): ReadAnswer & { body: Buffer } {
  const wording = { modelText: Buffer.from(modelText), plainWords, ...(vectors && { vectors }) };
  const { body, sample, refusal, ...answer } = readWholeAnswer(bytes, wording, isResponse);
  return {
    body,
    answer,
    ...(refusal && { refused: refusal.message }),
    ...(isSampled && !answer.usage && { sample: sample() }),
  };
}

/**
 * Reads a large answer in the worker thread; an upstream's words about a failure are
 * replaced. It is read to its end even if its client leaves: what it used is in it.
 * @throws GatewayError `upstream_error` if it is no JSON object.
 */
export async function readLargeAnswer(
  bytes: AnswerBytes,
  how: Omit<HowToRead, 'modelText'> & { modelText: Buffer },
): Promise<WholeAnswer> {
  const { modelText, isResponse, isSampled, vectors } = how;
  const asked = { modelText: modelText.toString(), isResponse, isSampled, ...(vectors && { vectors }) };
  const work = { module: import.meta.url, run: readAnswer };
  try {
    const { body, answer, sample = NO_TEXT, refused } = await workInThread(work, bytes.take(), asked);
    const refusal = refused === undefined ? undefined : new GatewayError('upstream_error', refused);
    return { ...answer, body, sample: () => sample, ...(refusal && { refusal }) };
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError('upstream_error', 'The answer of the model cannot be read.', { cause });
  }
}
