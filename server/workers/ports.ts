/*
 * The ports of the gateway, and the connections that arrive on them. The supervisor accepts each connection, reads
 * nothing from it, and hands its socket to the next worker in turn: a worker that ends takes no connection with it that
 * another one could serve, and the port stays open while workers are replaced. A connection that arrives while no
 * worker is ready waits for one; beyond 1,000 of them the oldest is closed.
 */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { closePort } from '../../core/runtime/index.js';
import type { PortName } from './messages.js';

const MAX_WAITING = 1_000;

/** A worker that takes connections. */
export interface Taker {
  /** Resolves with false if the worker was gone before it had the socket. */
  take(port: PortName, socket: Socket): Promise<boolean>;
}

interface Connection {
  port: PortName;
  socket: Socket;
}

export class Ports {
  readonly #servers: Server[] = [];
  readonly #takers: Taker[] = [];
  readonly #waiting: Connection[] = [];
  #turn = 0;

  /**
   * Listens. @returns The number of the port.
   * @throws Error of the system, such as `EADDRINUSE`.
   */
  async open(port: PortName, at: { host: string; port: number }): Promise<number> {
    // A client may end its side after the request, and no small answer waits for an acknowledgement, as in Node's HTTP.
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true });
    server.on('connection', (socket) => {
      // A client may be gone already, which is no failure.
      socket.on('error', () => {});
      this.#deal({ port, socket });
    });
    server.listen(at.port, at.host);
    await once(server, 'listening');
    this.#servers.push(server);
    const address = server.address();
    return typeof address === 'object' && address ? address.port : at.port;
  }

  /** Adds a worker, which gets the connections that wait. */
  add(taker: Taker): void {
    this.#takers.push(taker);
    for (const connection of this.#waiting.splice(0)) this.#deal(connection);
  }

  remove(taker: Taker): void {
    const position = this.#takers.indexOf(taker);
    if (position >= 0) this.#takers.splice(position, 1);
  }

  /** Whether no other worker takes connections. */
  isLast(taker: Taker): boolean {
    return this.#takers.every((each) => each === taker);
  }

  /** Listens no more. Connections that the system has accepted are handed over before that. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.splice(0).map(closePort));
    for (const { socket } of this.#waiting.splice(0)) socket.destroy();
  }

  #deal(connection: Connection): void {
    this.#turn += 1;
    const taker = this.#takers[this.#turn % this.#takers.length];
    if (!taker) {
      if (this.#waiting.push(connection) > MAX_WAITING) this.#waiting.shift()?.socket.destroy();
      return;
    }
    void taker.take(connection.port, connection.socket).then((taken) => {
      if (taken) return;
      this.remove(taker);
      this.#deal(connection);
    });
  }
}
