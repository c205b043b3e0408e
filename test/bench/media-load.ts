/*
 * The client of the media benchmark, in a process of its own, so that its work is not counted as a server's. Gets one
 * order after the other from its parent and answers each with a report, or with what went wrong.
 */

import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface MediaOrder {
  /** Each is read by one connection, all at once. */
  urls: readonly string[];
  headers?: Readonly<Record<string, string>>;
  /** Of each connection. Default: no limit. */
  bytesPerSecond?: number;
  /** Reading ends after this time. Default: at the end of the files. */
  seconds?: number;
  /** Reading ends after so many bytes of each file. Default: at their ends. */
  bytes?: number;
}

export interface MediaReport {
  /** From the first request to the last byte. */
  seconds: number;
  /** Of all files. */
  bytes: number;
  /** Of the connection that got the least. */
  leastBytes: number;
}

/** Smaller waits are not worth a timer. */
const MIN_WAIT_MS = 10;
/** Over which streams of a limited rate begin. */
const START_MS = 1_000;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

async function load({ urls, headers, ...limits }: MediaOrder): Promise<MediaReport> {
  const began = performance.now();
  // Viewers do not begin at the same moment: in step, all of them would want their next bytes at once.
  const apart = limits.bytesPerSecond === undefined ? 0 : START_MS / urls.length;
  const begin = async (url: string, index: number) => {
    if (apart > 0) await sleep(index * apart);
    return read(url, { headers, ...limits });
  };
  const counts = await Promise.all(urls.map(begin));
  return {
    seconds: (performance.now() - began) / 1000,
    bytes: counts.reduce((sum, bytes) => sum + bytes, 0),
    leastBytes: Math.min(...counts),
  };
}

function read(url: string, order: Omit<MediaOrder, 'urls'>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent, headers: { ...order.headers } }, (response) => {
      if (response.statusCode !== 200 && response.statusCode !== 206) {
        reject(new Error(`${url} was answered with ${response.statusCode}`));
        response.resume();
      } else resolve(consume(response, order));
    });
    sent.once('error', reject);
  });
}

function consume(response: IncomingMessage, { bytesPerSecond, seconds, bytes }: Omit<MediaOrder, 'urls'>) {
  const began = performance.now();
  let received = 0;
  return new Promise<number>((resolve, reject) => {
    const leave = () => {
      resolve(received);
      response.destroy();
    };
    if (seconds !== undefined) setTimeout(leave, seconds * 1000);
    response.on('data', (chunk: Buffer) => {
      received += chunk.byteLength;
      if (bytes !== undefined && received >= bytes) leave();
      const due = bytesPerSecond === undefined ? 0 : began + (received * 1000) / bytesPerSecond;
      const wait = due - performance.now();
      if (wait < MIN_WAIT_MS) return;
      response.pause();
      setTimeout(() => response.resume(), wait);
    });
    response.once('end', () => resolve(received));
    response.once('error', reject);
    response.once('aborted', () => reject(new Error('an answer was cut off')));
  });
}

process.on('message', async (order: MediaOrder) => {
  try {
    process.send?.({ done: await load(order) });
  } catch (error) {
    process.send?.({ failed: String(error) });
  }
});
