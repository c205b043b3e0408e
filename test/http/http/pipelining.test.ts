/** Pipelined requests: order, limits, timeouts and refusals. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { createHttpServer, type HttpServer } from 'mediagate/server';
import { until } from '../../support/until.js';

interface Begun {
  request: IncomingMessage;
  response: ServerResponse;
}

const asking = (...targets: readonly string[]) =>
  targets.map((one) => `GET ${one} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');

describe('pipelined requests', () => {
  let server: HttpServer;
  let begun: Begun[];
  let client: Socket;
  let received: string;
  let hungUp: Promise<unknown>;

  beforeEach(async () => {
    begun = [];
    server = createHttpServer({
      handler: (request, response) => void begun.push({ request, response }),
      headersMs: 500,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    received = '';
    client.on('data', (chunk) => {
      received += chunk;
    });
    // A reset is an end like any other.
    client.on('error', () => undefined);
    hungUp = new Promise((resolve) => client.once('close', resolve));
    await once(client, 'connect');
  });
  afterEach(() => {
    client.destroy();
    server.close();
    server.closeAllConnections();
  });

  const targets = () => begun.map(({ request }) => request.url);
  const answer = (text: string) => begun.at(-1)?.response.end(text);
  /** Resolves when the server has read all that was written. */
  const arrived = async () => {
    const [{ request } = {}] = begun;
    await until(() => request?.socket.bytesRead === client.bytesWritten);
  };

  it('start one after the other, each after the answer to the one before', async () => {
    client.write(asking('/1', '/2', '/3'));
    await until(() => begun.length > 0);
    await arrived();
    for (const [index, target] of ['/1', '/2', '/3'].entries()) {
      await until(() => begun.length > index);
      expect(targets()).to.deep.equal(['/1', '/2', '/3'].slice(0, index + 1));
      answer(`answer to ${target}`);
    }
    await until(() => received.includes('answer to /3'));
    expect(received.match(/answer to \/\d/g)).to.deep.equal(['answer to /1', 'answer to /2', 'answer to /3']);
  });

  it('do not start after an answer that ends the connection, or after the client disconnected', async () => {
    client.write(asking('/1', '/2'));
    await until(() => begun.length > 0);
    begun[0]?.response.setHeader('Connection', 'close');
    answer('the last');
    await hungUp;
    expect(received).to.match(/the last$/);

    const other = connect((server.address() as AddressInfo).port, '127.0.0.1');
    other.write(asking('/3', '/4'));
    await until(() => begun.length > 1);
    const gone = once(begun[1]?.response as ServerResponse, 'close');
    other.resetAndDestroy();
    await gone;
    expect(targets()).to.deep.equal(['/1', '/3']);
  });

  it('close the connection beyond 32', async () => {
    client.write(asking('/0'));
    await until(() => begun.length > 0);
    client.write(asking(...Array.from({ length: 32 }, (_, index) => `/${index + 1}`)));
    await arrived();
    expect(client.readyState).to.equal('open');
    client.write(asking('/33'));
    await hungUp;
    expect(targets()).to.deep.equal(['/0']);
  });

  for (const [what, wrong] of [
    ['garbage', ['nonsense\r\n\r\n', 'and more\r\n\r\n']],
    ['a body longer than it says', ['\0']],
    ['a header that does not go on', ['GE']],
  ] as const) {
    it(`are answered before the next is refused: ${what}`, async () => {
      client.write(asking('/1'));
      await until(() => begun.length > 0);
      begun[0]?.response.writeHead(200, { 'Content-Length': 10 }).write('begun');
      await until(() => received.endsWith('begun'));
      client.write(asking('/2'));
      const refused = once(server, 'clientError');
      client.write(wrong[0]);
      await refused;
      for (const piece of wrong.slice(1)) client.write(piece);
      answer('ended');
      await until(() => begun.length > 1);
      expect(received).to.match(/begunended$/);
      answer('the second');
      await hungUp;
      const answers = received.match(/HTTP\/1\.1 \d+|begunended|the second/g);
      const status = what.startsWith('a header') ? 408 : 400;
      expect(answers).to.deep.equal(['HTTP/1.1 200', 'begunended', 'HTTP/1.1 200', 'the second', `HTTP/1.1 ${status}`]);
    });
  }

  it('close the connection if one breaks off behind a running answer', async () => {
    client.write(asking('/1'));
    await until(() => begun.length > 0);
    begun[0]?.response.writeHead(200, { 'Content-Length': 10 }).write('begun');
    await until(() => received.endsWith('begun'));
    client.write('POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n');
    await hungUp;
    expect(received).to.match(/begun$/);
    expect(targets()).to.deep.equal(['/1']);
  });

  it('have a timeout of their own', async () => {
    client.write(asking('/1', '/2'));
    await until(() => begun.length > 0);
    begun[0]?.response.setTimeout(60_000);
    answer('the first');
    await until(() => begun.length > 1);
    expect(begun[1]?.request.socket.timeout).to.equal(0);
  });

  it('are refused in order', async () => {
    client.write(asking('/1', '*/*', '/2'));
    await until(() => begun.length > 0);
    answer('the first');
    await hungUp;
    expect(received.match(/HTTP\/1\.1 \d+|the first/g)).to.deep.equal(['HTTP/1.1 200', 'the first', 'HTTP/1.1 400']);
    expect(targets()).to.deep.equal(['/1']);
  });

  it('are all answered before a tunnel is refused', async () => {
    client.write(`${asking('/1', '/2')}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`);
    for (const index of [0, 1]) {
      await until(() => begun.length > index);
      answer(`answer ${index}`);
    }
    await hungUp;
    expect(received.match(/answer \d|HTTP\/1\.1 405/g)).to.deep.equal(['answer 0', 'answer 1', 'HTTP/1.1 405']);
  });
});
