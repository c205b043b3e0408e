/*
 * Runs in a worker thread: parses the large bodies it receives, with a lower priority than the main thread, and returns
 * their bytes.
 */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { findInexactField, findVendorFields, samplePrompt } from '../../core/text/index.js';
import { parseLargeBody } from './json-body.js';
import type { ParseAnswer, ParseOrder } from './json-threads.js';

/** Priority from 0 to 19, where the main thread has 0 and comes first if there are fewer processors than threads. */
const NICENESS = 10;
try {
  // Linux has a priority per thread; its id is the last part of this link. Other systems have no such link.
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
} catch {
  // The parser threads then have the priority of the process.
}

/** A parser thread: parses the large bodies that it receives, one after the other, and returns their bytes. */
parentPort?.on('message', ({ bytes, plan }: ParseOrder) => {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parsed = parseLargeBody(whole, plan, {
    readBrief: (value) => ({ prompt: samplePrompt(value), vendorFields: findVendorFields(value) }),
    findInexact: findInexactField,
  });
  parentPort?.postMessage({ parsed, bytes } satisfies ParseAnswer, [bytes.buffer]);
});
