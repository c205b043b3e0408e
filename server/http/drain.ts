import { Server as NetServer } from 'node:net';
import { setImmediate as eventsOfThisTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { GatewayError } from 'mediagate';
import { endsWithin } from '../../core/runtime/index.js';
import type { HttpServer } from './http-server.js';

const POLL_MS = 50;
const FAREWELL_MS = 300;
/** For a first request that is on its way. */
const FIRST_REQUEST_MS = 1_000;
/** For what is cut off to say so. */
const LAST_WORDS_MS = 1_000;

export interface DrainOptions {
  /** Milliseconds that new connections are still accepted, for balancers to see that they should not come. */
  acceptMs: number;
  /** Milliseconds for requests in flight to finish from then on. */
  timeoutMs: number;
  /** Called where there is no more time, for those to tell their clients who can. */
  cutOff(): void;
}

/**
 * Says goodbye to clients, then stops accepting connections and lets requests in flight finish. For a while every answer
 * says that it is the last of its connection: a connection that is closed without a word may be the one on which a client
 * is sending its next request.
 * @returns True where all of them did in time. Of the others, those without an answer are told to ask again, and the rest is
 *   cut off.
 */
export async function drain(server: HttpServer, { acceptMs, timeoutMs, cutOff }: DrainOptions): Promise<boolean> {
  const farewellMs = (await countConnections(server)) > 0 ? Math.min(FAREWELL_MS, timeoutMs) : 0;
  await sleep(Math.max(acceptMs, farewellMs));
  // Connections that wait to be accepted are accepted before this goes on; closing would reset them.
  await eventsOfThisTurn();
  // Not the method of HTTP servers, which hangs up on whoever has connected and is about to send the first request.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  if ((await countConnections(server)) > 0) await endsWithin(Math.min(FAREWELL_MS, timeoutMs), () => closed);
  // A connection that was busy when the server closed turns idle when its answer is out, and then nobody closes it.
  const closedAt = performance.now();
  const poll = setInterval(() => {
    server.closeIdleConnections();
    if (performance.now() - closedAt > FIRST_REQUEST_MS) server.closeUnasked();
  }, POLL_MS);
  server.closeIdleConnections();
  const drained = await endsWithin(timeoutMs, () => closed);
  if (!drained) {
    cutOff();
    await endsWithin(LAST_WORDS_MS, () => closed);
    server.refuseUnanswered(new GatewayError('shutting_down', 'The gateway is shutting down; ask again.'));
    await endsWithin(FAREWELL_MS, () => closed);
    server.closeAllConnections();
  }
  clearInterval(poll);
  return drained;
}

function countConnections(server: HttpServer): Promise<number> {
  return promisify(server.getConnections.bind(server))();
}
