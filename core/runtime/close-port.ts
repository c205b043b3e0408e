/*
 * Closes the port of a server without a reset for clients that have just connected. The system completes connections
 * before the process knows of them, and closing the port resets those that were not accepted. So the port closes right
 * after the event loop has looked for connections twice and found none, or after 100 looks: clients that connect all
 * the time must not keep it open.
 */

import { Server } from 'node:net';
import { setImmediate as eventsOfThisTurn } from 'node:timers/promises';

const MAX_TURNS = 100;
const QUIET_TURNS = 2;

/** Stops listening. Connections that were accepted stay open. */
export async function closePort(server: Server): Promise<void> {
  let quietTurns = 0;
  const restart = () => {
    quietTurns = -1;
  };
  server.on('connection', restart);
  for (let turn = 0; turn < MAX_TURNS && quietTurns < QUIET_TURNS; turn += 1) {
    await eventsOfThisTurn();
    quietTurns += 1;
  }
  server.off('connection', restart);
  // Not the method of HTTP servers, which also closes connections that are about to send their first request.
  Server.prototype.close.call(server);
}
