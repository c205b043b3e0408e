import { parentPort } from 'node:worker_threads';
import { parseBody } from './json-body.js';
import type { ParseAnswer, ParseOrder } from './json-threads.js';

/** The other thread: understands the bodies that it is sent, one after the other. */
parentPort?.on('message', ({ id, bytes }: ParseOrder) => {
  const parsed = parseBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  parentPort?.postMessage({ id, parsed } satisfies ParseAnswer);
});
