/*
 * The worker thread behind `large-work.ts`. It runs exported functions on large texts, one after the other, at a lower
 * priority than the main thread. Buffers are transferred both ways, not copied. Only errors of the gateway keep their
 * code and message.
 */

import { parentPort } from 'node:worker_threads';
import { isGatewayError, lowerThreadPriority } from '../runtime/index.js';
import type { DoneWork, Work, WorkTask } from './large-work.js';

lowerThreadPriority();

parentPort?.on('message', async (task: WorkTask) => {
  let done: DoneWork;
  try {
    const run = await functionOf(task);
    const result = run(Buffer.concat(task.parts), task.how);
    const { body, ...more } = typeof result === 'string' ? { body: result } : result;
    done = { body: ownBytes(body), more };
  } catch (error) {
    const failure = isGatewayError(error)
      ? { code: error.code, message: error.message, ...(error.param !== undefined && { param: error.param }) }
      : { message: String((error as Error)?.stack ?? error) };
    done = { failure };
  }
  parentPort?.postMessage(done, done.body ? [done.body.buffer] : []);
});

async function functionOf({ module, name }: WorkTask): Promise<Work<unknown, object>['run']> {
  const found: unknown = (await import(module))[name];
  if (typeof found !== 'function') throw new Error(`the module ${module} does not export the function "${name}"`);
  return found as Work<unknown, object>['run'];
}

/** Bytes that can be given away: short ones share their memory with others. */
function ownBytes(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return bytes.length < Buffer.poolSize ? new Uint8Array(bytes) : (bytes as Uint8Array<ArrayBuffer>);
}
