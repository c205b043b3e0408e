import type { Server } from 'node:http';

const POLL_MS = 200;

/**
 * Stops accepting connections and lets requests in flight finish.
 * @returns True where all of them did before `timeoutMs`; the others are cut off.
 */
export async function drain(server: Server, timeoutMs: number): Promise<boolean> {
  const closed = new Promise<boolean>((resolve) => server.close(() => resolve(true)));
  // A connection that was busy when the server closed turns idle when its answer is out, and then nobody closes it.
  const poll = setInterval(() => server.closeIdleConnections(), POLL_MS);
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  server.closeIdleConnections();
  const drained = await Promise.race([closed, tooLate]);
  clearInterval(poll);
  clearTimeout(timer);
  if (!drained) server.closeAllConnections();
  return drained;
}
