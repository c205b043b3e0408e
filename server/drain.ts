import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const POLL_MS = 200;
const FAREWELL_MS = 300;
/** For what is cut off to say so. */
const LAST_WORDS_MS = 1_000;

/**
 * Says goodbye to clients, then stops accepting connections and lets requests in flight finish. For a moment every answer
 * says that it is the last of its connection: a connection that is closed without a word may be the one on which a client
 * is sending its next request.
 * @param cutOff called where there is no more time, for those to tell their clients who can.
 * @returns True where all of them did before `timeoutMs`; the others are cut off.
 */
export async function drain(server: Server, timeoutMs: number, cutOff: () => void): Promise<boolean> {
  if ((await countConnections(server)) > 0) await sleep(Math.min(FAREWELL_MS, timeoutMs));
  const closed = new Promise<boolean>((resolve) => server.close(() => resolve(true)));
  // A connection that was busy when the server closed turns idle when its answer is out, and then nobody closes it.
  const poll = setInterval(() => server.closeIdleConnections(), POLL_MS);
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  server.closeIdleConnections();
  const drained = await Promise.race([closed, tooLate]);
  clearTimeout(timer);
  if (!drained) {
    cutOff();
    await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    server.closeAllConnections();
  }
  clearInterval(poll);
  return drained;
}

function countConnections(server: Server): Promise<number> {
  return promisify(server.getConnections.bind(server))();
}
