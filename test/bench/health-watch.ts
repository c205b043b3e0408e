/** Measures `/health` from a thread of its own while other work goes on. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Between two requests to `/health`. */
const PAUSE_MS = 10;

/**
 * Milliseconds that `/health` took, one request after the other while the work goes on. A thread of its own looks, so
 * that what this one is busy with is not taken for the server's slowness.
 */
export async function watchHealthDuring(url: string, work: () => Promise<void>): Promise<number[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: url });
  try {
    await once(worker, 'message');
    await work();
    worker.postMessage('over');
    const [times] = (await once(worker, 'message')) as [number[]];
    return times;
  } finally {
    await worker.terminate();
  }
}

async function check(url: string): Promise<number> {
  const began = performance.now();
  const response = await fetch(`${url}/health`);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`/health answered ${response.status}`);
  return performance.now() - began;
}

if (!isMainThread && parentPort) {
  const times: number[] = [];
  const over = new AbortController();
  parentPort.once('message', () => over.abort());
  await check(workerData as string);
  parentPort.postMessage('ready');
  while (!over.signal.aborted) {
    times.push(await check(workerData as string));
    await sleep(PAUSE_MS);
  }
  parentPort.postMessage(times);
}
