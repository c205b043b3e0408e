/** An HTTP client on a plain socket, cheap enough for load tests. */

import { connect, type Socket } from 'node:net';
import { type AnswerReader, createAnswerReader, type RawAnswer } from './raw-answer.js';

/** A kept connection that sends one request after the other; opened anew where the server has closed it. */
export interface RawConnection {
  /**
   * @param onEvents See {@link createAnswerReader}.
   * @throws Error where the connection breaks before the answer is whole.
   */
  exchange(request: Buffer, onEvents?: (events: number) => void): Promise<RawAnswer>;
  /** Closes the connection, also during an exchange. */
  destroy(): void;
}

export function createRawConnection(origin: string): RawConnection {
  const { hostname, port } = new URL(origin);
  let socket: Socket | undefined;
  let reader: AnswerReader | undefined;
  let settle: PromiseWithResolvers<RawAnswer> | undefined;

  function open(): Socket {
    const opened = connect({ host: hostname, port: Number(port), noDelay: true });
    const fail = (error: unknown) => {
      // One that was let go says nothing of what is under way on its successor.
      if (socket !== opened) return;
      socket = undefined;
      opened.destroy();
      settle?.reject(error);
    };
    opened.on('data', (bytes) => {
      try {
        if (socket === opened && reader?.take(bytes)) finish(reader.answer);
      } catch (error) {
        fail(error);
      }
    });
    opened.on('error', fail).on('close', () => fail(new Error('the connection ended before the answer did')));
    return opened;
  }

  function finish(answer: RawAnswer): void {
    const { resolve } = settle ?? {};
    settle = undefined;
    if (answer.closes) destroy();
    resolve?.(answer);
  }

  function destroy(): void {
    const gone = socket;
    socket = undefined;
    gone?.destroy();
    settle?.reject(new Error('the connection was hung up'));
    settle = undefined;
  }

  return {
    exchange(request, onEvents) {
      settle = Promise.withResolvers();
      reader = createAnswerReader(onEvents);
      socket ??= open();
      socket.write(request);
      return settle.promise;
    },
    destroy,
  };
}
