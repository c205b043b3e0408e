/** The connection limit of an address. */

import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { createHttpServer, type HttpServer } from 'mediagate/server';
import { until } from '../../support/until.js';

/** Addresses of loopback, each of them its own client to the server. */
const CLIENTS = ['127.0.1.1', '127.0.2.1', '127.0.3.1'];

describe('connection limit of an address', () => {
  let server: HttpServer;
  let sockets: Socket[];
  let handled: (() => void)[];

  beforeEach(async () => {
    sockets = [];
    handled = [];
    server = createHttpServer({
      handler: (_request, response) => void handled.push(() => response.end('answer')),
      maxConnectionsPerAddress: 3,
      isProxy: (address) => address === '127.0.3.1',
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  async function open(localAddress: string, text = ''): Promise<Socket> {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    if (text !== '') socket.write(text);
    return socket;
  }
  const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const isOpen = (socket: Socket) => !socket.readableEnded && !socket.destroyed;

  it('closes the oldest idle connection beyond the limit', async () => {
    const [client = ''] = CLIENTS;
    const busy = await open(client, REQUEST);
    await until(() => handled.length === 1);
    const idle = await open(client);
    const youngest = await open(client);
    for (const socket of sockets) socket.resume();
    const more = await open(client, REQUEST);
    await once(idle, 'close');
    await until(() => handled.length === 2);
    expect([busy, youngest, more].map(isOpen)).to.deep.equal([true, true, true]);
    for (const end of handled) end();
  });

  it('refuses new connections if none is idle, except those of other addresses', async () => {
    const [client = '', another = ''] = CLIENTS;
    for (let opened = 0; opened < 3; opened += 1) await open(client, REQUEST);
    await until(() => handled.length === 3);
    const refused = await open(client);
    refused.resume();
    await once(refused, 'close');
    await open(another, REQUEST);
    await until(() => handled.length === 4);
    expect(sockets.slice(0, 3).map(isOpen)).to.deep.equal([true, true, true]);
  });

  it('does not count connections of a proxy', async () => {
    const proxy = CLIENTS[2] ?? '';
    for (let opened = 0; opened < 10; opened += 1) await open(proxy, REQUEST);
    await until(() => handled.length === 10);
  });

  it('forgets closed connections', async () => {
    const [client = ''] = CLIENTS;
    for (let turn = 0; turn < 10; turn += 1) {
      const socket = await open(client, REQUEST);
      await until(() => handled.length === turn + 1);
      socket.destroy();
      await once(socket, 'close');
      await until(async () => (await countOf(server)) === 0);
    }
  });
});

function countOf(server: HttpServer): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
