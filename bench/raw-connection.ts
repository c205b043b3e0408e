import { connect, type Socket } from 'node:net';
import { type AnswerReader, createAnswerReader, type RawAnswer } from './raw-answer.js';

/** A kept connection that sends one request after the other; opened anew where the server has closed it. */
export interface RawConnection {
  /**
   * @param onEvents See {@link createAnswerReader}.
   * @throws Error where the connection breaks before the answer is whole.
   */
  exchange(request: Buffer, onEvents?: (events: number) => void): Promise<RawAnswer>;
  /** Hangs up, whatever is under way. */
  destroy(): void;
}

export function createRawConnection(origin: string): RawConnection {
  const { hostname, port } = new URL(origin);
  let socket: Socket | undefined;
  let reader: AnswerReader | undefined;
  let settle: PromiseWithResolvers<RawAnswer> | undefined;

  function open(): Socket {
    const opened = connect({ host: hostname, port: Number(port), noDelay: true });
    opened.on('data', (bytes) => {
      try {
        if (reader?.take(bytes)) finish(opened, reader.answer);
      } catch (error) {
        fail(error);
      }
    });
    opened.on('error', fail).on('close', () => {
      if (socket === opened) socket = undefined;
      fail(new Error('the connection ended before the answer did'));
    });
    return opened;
  }

  function finish(of: Socket, answer: RawAnswer): void {
    const { resolve } = settle ?? {};
    settle = undefined;
    if (answer.closes) {
      socket = undefined;
      of.destroy();
    }
    resolve?.(answer);
  }

  function fail(error: unknown): void {
    settle?.reject(error);
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
    destroy() {
      socket?.destroy();
      socket = undefined;
    },
  };
}
