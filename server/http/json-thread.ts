import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { samplePrompt } from '../../core/text/index.js';
import { parseLargeBody } from './json-body.js';
import type { ParseAnswer, ParseOrder } from './json-threads.js';

/** Of 0 to 19, where the main thread has 0: it comes first where there are fewer processors than threads. */
const NICENESS = 10;
try {
  // Linux has a priority for each thread; its id is the last part of this link. Elsewhere there is no such link.
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
} catch {
  // The lanes then have the priority of the process.
}

/** A lane of its own: parses the large bodies that it is sent, one after the other, and gives their bytes back. */
parentPort?.on('message', ({ bytes, plan }: ParseOrder) => {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parsed = parseLargeBody(whole, plan, samplePrompt);
  parentPort?.postMessage({ parsed, bytes } satisfies ParseAnswer, [bytes.buffer]);
});
