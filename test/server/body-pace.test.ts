import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { isGatewayError } from 'mediagate';
import { readJsonBody } from '../../server/middleware/body.js';
import { type BodyBudget, createBodyBudget } from '../../server/middleware/body-budget.js';

const KIBIBYTE = 1024;
const PACE_MS = 400;

describe('the pace of large bodies', () => {
  let server: Server;
  let budget: BodyBudget;
  let socket: Socket;

  beforeEach(async () => {
    budget = createBodyBudget({ bigBodies: 3 });
    server = createServer(async (request, response) => {
      const limits = { maxBytes: 4 * KIBIBYTE * KIBIBYTE, budget, keyId: 'one', paceMs: PACE_MS };
      const answer = await readJsonBody(request, response, limits).catch((error: unknown) => error);
      response.end(isGatewayError(answer) ? answer.code : 'read');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  });
  afterEach(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  const head = (framing: string) =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n${framing}\r\n\r\n`;

  async function answerOf(): Promise<string> {
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    return text.split('\r\n\r\n').at(-1) ?? '';
  }

  it('is asked of those that stall, which then give their place back', async () => {
    socket.write(`${head('Transfer-Encoding: chunked')}1\r\n{\r\n`);
    expect(await answerOf()).to.contain('request_timeout');
    budget.reserve('one', 2 * KIBIBYTE * KIBIBYTE);
  });

  it('is asked of those that drip', async () => {
    socket.write(head('Content-Length: 3000000'));
    const drip = setInterval(() => socket.write('   '), PACE_MS / 20);
    try {
      expect(await answerOf()).to.contain('request_timeout');
    } finally {
      clearInterval(drip);
    }
  });

  it('lets those pass that keep it, however long they take, and small ones', async () => {
    const pieces = 12;
    const piece = ' '.repeat(256 * KIBIBYTE);
    socket.write(head(`Content-Length: ${pieces * piece.length + 2}`));
    const answer = answerOf();
    for (let sent = 0; sent < pieces; sent += 1) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, PACE_MS / 4));
    }
    socket.write('{}');
    expect(await answer).to.contain('read');

    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`${head('Content-Length: 2')}{`);
    await new Promise((resolve) => setTimeout(resolve, PACE_MS * 2));
    socket.write('}');
    expect(await answerOf()).to.contain('read');
  });
});
