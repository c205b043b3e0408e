/** A proxy between a node and its PostgreSQL that cuts, holds or delays the connection. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStatementReader } from './database-statements.js';

/** How the way to the database fails. */
export type LinkFault =
  /** Every connection breaks, and none can be made. */
  | { does: 'cut' }
  /** Nothing passes. Afterwards what was under way arrives late, or is lost with its connections. */
  | { does: 'hold'; afterwards: 'arrives' | 'lost' }
  /** Everything takes that many milliseconds longer, each way. */
  | { does: 'delay'; ms: number };

/** The way of one node to its PostgreSQL. */
export interface DatabaseLink {
  /** Of the database behind it, over TCP. */
  readonly url: string;
  setFault(fault?: LinkFault): void;
  /**
   * Cuts the very answer to the next COMMIT of a transaction in which a statement matches: the database has done it, and
   * the node is not told. False where none came in that many milliseconds.
   */
  loseCommit(statement: RegExp, timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** @param socketPath Where the database listens. */
export async function startDatabaseLink(socketPath: string): Promise<DatabaseLink> {
  const sockets = new Set<Socket>();
  let fault: LinkFault | undefined;
  let healed = Promise.withResolvers<void>();
  let loss: { statement: RegExp; lost(): void } | undefined;

  /** Resolves when bytes may pass. */
  async function passage(): Promise<void> {
    while (fault?.does === 'hold') await healed.promise;
    if (fault?.does === 'delay') await sleep(fault.ms);
  }

  async function relay(from: Socket, to: Socket, pass: (chunk: Buffer) => boolean): Promise<void> {
    for await (const chunk of from) {
      await passage();
      if (!pass(chunk)) return;
      if (!to.write(chunk)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
    to.end();
  }

  function join(client: Socket): void {
    const server = connect(socketPath);
    const statements = createStatementReader();
    let committed: (() => void) | undefined;
    const destroy = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', destroy);
      socket.on('close', () => sockets.delete(socket));
    }
    const asked = relay(client, server, (chunk) => {
      const transaction = statements.read(chunk);
      if (transaction && loss && transaction.some((statement) => loss?.statement.test(statement))) {
        committed = loss.lost;
        loss = undefined;
      }
      return true;
    });
    const answered = relay(server, client, () => {
      committed?.();
      return committed === undefined;
    });
    // Where one side ends badly, or an answer is not to arrive, the other is not left alone.
    asked.catch(destroy);
    answered.then(() => committed && destroy(), destroy);
  }

  function breakAll(): void {
    for (const socket of sockets) socket.destroy();
  }

  const server = createServer((client) => {
    client.setNoDelay(true);
    if (fault?.does === 'cut') client.destroy();
    else join(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    setFault(next) {
      const before = fault;
      fault = next;
      if (next?.does === 'cut' || (before?.does === 'hold' && before.afterwards === 'lost')) breakAll();
      healed.resolve();
      healed = Promise.withResolvers<void>();
    },
    async loseCommit(statement, timeoutMs) {
      const lost = new Promise<boolean>((resolve) => {
        loss = { statement, lost: () => resolve(true) };
      });
      const none = new AbortController();
      const inVain = sleep(timeoutMs, false, { signal: none.signal }).catch(() => false);
      const came = await Promise.race([lost, inVain]);
      none.abort();
      if (!came) loss = undefined;
      return came;
    },
    async close() {
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}
