/** Origin servers on loopback, plain and with TLS. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';

/** A server on 127.0.0.1 that stands for an origin. */
export interface OriginServer {
  readonly port: number;
  /** Scheme, host and port; the host is the literal 127.0.0.1. */
  readonly origin: string;
  /** Connections so far. */
  readonly connections: number;
  /** Resolves when no connection is open any more. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** An origin that speaks proper HTTP. */
export function startOrigin(answer: RequestListener): Promise<OriginServer> {
  return listen(createServer(answer), 'http');
}

/** As {@link startOrigin}, over TLS. */
export function startSecureOrigin(
  contextFor: (host: string) => Promise<SecureContext>,
  answer: RequestListener,
): Promise<OriginServer> {
  const server = createHttpsServer(
    {
      SNICallback: (name, callback) => {
        contextFor(name).then(
          (context) => callback(null, context),
          (error) => callback(error),
        );
      },
    },
    answer,
  );
  // Hand-shakes that fail are the client's to report.
  server.on('tlsClientError', () => {});
  return listen(server, 'https');
}

/** An origin that says exactly what it is told to, HTTP or not. `onRequest` runs once the first bytes have arrived. */
export function startRawOrigin(onRequest: (socket: Socket, head: string) => void): Promise<OriginServer> {
  const server = createTcpServer((socket) => socket.once('data', (head) => onRequest(socket, head.toString('latin1'))));
  return listen(server, 'http');
}

async function listen(server: Server, scheme: string): Promise<OriginServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    // Clients of these tests hang up in the middle of things.
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `${scheme}://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    async idle() {
      while (sockets.size > 0) await new Promise((resolve) => [...sockets][0]?.once('close', resolve));
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An origin that can do more: what it says of itself it goes on to say, figures that change included. */
export function extendOrigin<Extended extends OriginServer>(
  origin: OriginServer,
  own: Omit<Extended, keyof OriginServer>,
): Extended {
  const described = { ...Object.getOwnPropertyDescriptors(origin), ...Object.getOwnPropertyDescriptors(own) };
  return Object.defineProperties({}, described) as Extended;
}
