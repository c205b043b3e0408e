/** A private server that notices when something reaches it. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A place in the private network that nobody may touch, and that notices who does. */
export interface Canary {
  /** On 127.0.0.1 and on ::1. */
  readonly origins: readonly string[];
  readonly udpPort: number;
  /** Connections accepted so far, whether or not anything was asked. */
  readonly connections: number;
  readonly datagrams: number;
  /** Paths that were asked for, without the first slash. */
  readonly paths: ReadonlySet<string>;
  close(): Promise<void>;
}

export const SECRET = 'the canary is singing';

export async function startCanary(): Promise<Canary> {
  const paths = new Set<string>();
  let connections = 0;
  let datagrams = 0;
  const servers = ['127.0.0.1', '::1'].map((host) => {
    const server = createServer((request, response) => {
      paths.add((request.url ?? '').slice(1));
      response.writeHead(200, { 'access-control-allow-origin': '*', 'content-type': 'text/plain' }).end(SECRET);
    });
    server.on('connection', () => {
      connections++;
    });
    server.on('upgrade', (request, socket) => {
      paths.add((request.url ?? '').slice(1));
      socket.destroy();
    });
    return server.listen(0, host);
  });
  const udp = createSocket('udp4', () => {
    datagrams++;
  });
  udp.bind(0, '127.0.0.1');
  await Promise.all([...servers, udp].map((one) => once(one, 'listening')));
  const [v4, v6] = servers.map((server) => (server.address() as AddressInfo).port);
  return {
    origins: [`http://127.0.0.1:${v4}`, `http://[::1]:${v6}`],
    udpPort: udp.address().port,
    get connections() {
      return connections;
    },
    get datagrams() {
      return datagrams;
    },
    paths,
    async close() {
      udp.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      await Promise.all([...servers, udp].map((one) => once(one, 'close')));
    },
  };
}
