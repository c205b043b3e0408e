/** A socket client whose timers pass when the test says so. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { mock } from 'node:test';
import { setImmediate as eventsOfThisTurn } from 'node:timers/promises';
import { until } from '../until.js';

/** A client of a server whose intervals pass when the test says so, and never while bytes are on their way to it. */
export interface PacedSocket {
  write(bytes: string | Uint8Array): void;
  /** Resolves when what was written has arrived, or the server has hung up, and an interval has passed since. */
  passInterval(): Promise<void>;
  /** Lets interval after interval pass until the server hangs up. */
  passIntervals(before?: () => void): Promise<void>;
  /** Body of the answer, once the server has hung up. */
  readonly answer: Promise<string>;
  close(): void;
}

/** Takes the place of `setInterval` in this process, until {@link PacedSocket.close}. */
export async function openPacedSocket(server: Server, intervalMs: number): Promise<PacedSocket> {
  mock.timers.enable({ apis: ['setInterval'] });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  let isOver = false;
  const answer = answerOf(socket).finally(() => {
    isOver = true;
  });
  // Nobody may ask for it.
  answer.catch(() => undefined);

  async function passInterval(): Promise<void> {
    await until(() => isOver || accepted.bytesRead >= socket.bytesWritten, 1);
    await eventsOfThisTurn();
    mock.timers.tick(intervalMs);
  }
  return {
    write: (bytes) => void socket.write(bytes),
    passInterval,
    async passIntervals(before) {
      while (!isOver) {
        before?.();
        await passInterval();
      }
    },
    answer,
    close() {
      socket.destroy();
      mock.timers.reset();
    },
  };
}

async function answerOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text.split('\r\n\r\n').at(-1) ?? '';
}
