/*
 * Runs in a worker thread: parses the large bodies it receives, with a lower priority than the main thread, and returns
 * their bytes.
 */

import { parentPort } from 'node:worker_threads';
import { lowerThreadPriority } from '../../../core/runtime/index.js';
import { findInexactField, findVendorFields, lastUserText, samplePrompt } from '../../../core/text/index.js';
import { parseLargeBody } from './json-body.js';
import type { ParseAnswer, ParseOrder } from './json-threads.js';

lowerThreadPriority();

parentPort?.on('message', ({ bytes, plan }: ParseOrder) => {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parsed = parseLargeBody(whole, plan, {
    readBrief: (value) => ({
      prompt: samplePrompt(value),
      vendorFields: findVendorFields(value),
      asked: lastUserText(value),
    }),
    findInexact: findInexactField,
  });
  parentPort?.postMessage({ parsed, bytes } satisfies ParseAnswer, [bytes.buffer]);
});
