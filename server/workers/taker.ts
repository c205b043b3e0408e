/*
 * Hands connections over to a worker. A socket stays open here until the worker says that it has it: Node sends the
 * sockets one by one, each after the worker has read the one before, and of a worker that is killed it forgets those that
 * wait, and calls no callback. Their clients would wait for ever. So when the worker has ended, what it has not taken goes
 * to another one. Cost: a message of the worker for each connection.
 */

import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { SupervisorMessage, WorkerMessage } from './messages.js';
import type { Taker } from './ports.js';

/** The way to a worker for connections that arrive here. */
export function takerOf(child: ChildProcess): Taker {
  const offered = new Map<number, (isTaken: boolean) => void>();
  let last = 0;
  child.on('message', (message: WorkerMessage) => {
    if (message.type === 'taken') offered.get(message.number)?.(true);
  });
  // All that it has said was read before that.
  child.once('close', () => {
    for (const settle of [...offered.values()]) settle(false);
  });
  return {
    take(port, socket: Socket) {
      if (!child.connected) return Promise.resolve(false);
      last += 1;
      const number = last;
      const message: SupervisorMessage = { type: 'connection', port, number };
      return new Promise((resolve) => {
        const settle = (isTaken: boolean) => {
          offered.delete(number);
          // The worker has it open as well, so that the client notices nothing.
          if (isTaken) socket.destroy();
          resolve(isTaken);
        };
        offered.set(number, settle);
        child.send(message, socket, { keepOpen: true }, (error) => error && settle(false));
      });
    },
  };
}
