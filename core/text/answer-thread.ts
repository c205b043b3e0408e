/*
 * The worker thread behind `large-answers.ts`. It joins and reads large answers one after the other, at a lower
 * priority than the main thread. Buffers are transferred both ways, not copied. An upstream's own words about a
 * failure are left out here, because only the main thread can clean them.
 */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { isGatewayError } from '../runtime/index.js';
import { readWholeAnswer } from './answers.js';
import type { AnswerTask, ReadAnswer } from './large-answers.js';

/** Priority from 0 to 19, where the main thread has 0 and comes first if there are fewer processors than threads. */
const NICENESS = 10;
try {
  // Linux has a priority per thread; its id is the last part of this link. Other systems have no such link.
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
} catch {
  // The thread then has the priority of the process.
}

/** The main thread knows what callers must not read; here, an upstream's words are left out. */
const plainWords = () => 'The model reported a failure.';

/** The worker thread that reads large answers, one after the other. */
parentPort?.on('message', ({ id, parts, modelText, isResponse, isSampled, vectors }: AnswerTask) => {
  let read: ReadAnswer;
  try {
    const bytes = Buffer.concat(parts);
    const { body, sample, ...answer } = readWholeAnswer(
      bytes,
      { modelText: Buffer.from(modelText), plainWords, ...(vectors && { vectors }) },
      isResponse,
    );
    const { refusal, ...rest } = answer;
    read = {
      id,
      body: body.buffer as ArrayBuffer,
      offset: body.byteOffset,
      length: body.byteLength,
      answer: rest,
      ...(refusal && { failure: refusal.message, isRefused: true }),
      ...(isSampled && !rest.usage && { sample: sample() }),
    };
  } catch (error) {
    const failure = isGatewayError(error) ? error.message : 'The answer of the model cannot be read.';
    read = { id, body: new ArrayBuffer(0), offset: 0, length: 0, failure };
  }
  parentPort?.postMessage(read, [read.body]);
});
