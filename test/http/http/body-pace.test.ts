/** The minimum pace of request bodies. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import { isGatewayError } from 'mediagate';
import { readJsonBody } from '../../../server/http/bodies/body.js';
import { BodyBudget } from '../../../server/http/bodies/body-budget.js';
import { openPacedSocket, type PacedSocket } from '../../support/http/paced-socket.js';
import { until } from '../../support/until.js';

const KIBIBYTE = 1024;
const PACE_MS = 400;

describe('pace of request bodies', () => {
  let server: Server;
  let budget: BodyBudget;
  let socket: PacedSocket;

  beforeEach(async () => {
    budget = new BodyBudget({ bigBodies: 3, paceMs: PACE_MS, maxMs: 10 * PACE_MS });
    server = createServer(async (request, response) => {
      const limits = { maxBytes: 4 * KIBIBYTE * KIBIBYTE, budget, owner: 'one' };
      const answer = await readJsonBody(request, response, limits).catch((error: unknown) => error);
      response.end(isGatewayError(answer) ? answer.code : 'read');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = await openPacedSocket(server, PACE_MS);
  });
  afterEach(() => {
    socket.close();
    server.closeAllConnections();
    server.close();
  });

  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const head = (framing: string) =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n${framing}\r\n\r\n`;

  it('ends bodies that stall and frees their memory', async () => {
    socket.write(`${head('Transfer-Encoding: chunked')}${chunk(' '.repeat(1_100 * KIBIBYTE))}`);
    await until(() => budget.taken().big > 0);
    await socket.passIntervals();
    expect(await socket.answer).to.contain('request_timeout');
    expect(budget.taken()).to.deep.equal({ small: 0, big: 0 });
  });

  it('ends small bodies too, and bodies that never arrive', async () => {
    for (const start of [`${head('Content-Length: 65536')}{`, `${head('Transfer-Encoding: chunked')}${chunk('{')}`]) {
      socket.write(start);
      await until(() => budget.taken().small > 0);
      await socket.passIntervals();
      expect(await socket.answer).to.contain('request_timeout');
      expect(budget.taken()).to.deep.equal({ small: 0, big: 0 });
      socket.close();
      socket = await openPacedSocket(server, PACE_MS);
    }
  });

  it('limits the time of small bodies that keep the pace', async () => {
    socket.write(head('Content-Length: 1000000'));
    let intervals = 0;
    await socket.passIntervals(() => {
      intervals += 1;
      socket.write(' '.repeat(8 * KIBIBYTE));
    });
    expect(await socket.answer).to.contain('request_timeout');
    expect(intervals).to.be.within(10, 13);
  });

  it('requires more of large bodies without a length', async () => {
    socket.write(`${head('Transfer-Encoding: chunked')}${chunk('{')}`);
    await until(() => budget.taken().small > 0);
    expect(budget.taken().big).to.equal(0);
    await socket.passInterval();
    socket.write(`${chunk(' '.repeat(1_100 * KIBIBYTE))}`);
    await until(() => budget.taken().big > 0);
    expect(budget.taken().small).to.equal(0);
    socket.write(`${chunk('}')}0\r\n\r\n`);
    expect(await socket.answer).to.contain('read');
    expect(budget.taken()).to.deep.equal({ small: 0, big: 0 });
  });

  it('accepts a body of some small chunks, and refuses one of many', async () => {
    socket.write(`${head('Transfer-Encoding: chunked')}${chunk('{')}${chunk(' ').repeat(3_000)}${chunk('}')}0\r\n\r\n`);
    expect(await socket.answer).to.contain('read');
    socket.close();
    socket = await openPacedSocket(server, PACE_MS);
    socket.write(`${head('Transfer-Encoding: chunked')}${chunk('{')}${chunk(' ').repeat(6_000)}`);
    expect(await socket.answer).to.contain('bad_request');
    expect(budget.taken()).to.deep.equal({ small: 0, big: 0 });
  });

  it('ends bodies that drip', async () => {
    socket.write(head('Content-Length: 3000000'));
    await socket.passIntervals(() => socket.write('   '));
    expect(await socket.answer).to.contain('request_timeout');
  });

  it('accepts bodies that keep the pace for any time, and small ones that end', async () => {
    const pieces = 12;
    const piece = ' '.repeat(256 * KIBIBYTE);
    socket.write(head(`Content-Length: ${pieces * piece.length + 2}`));
    for (let sent = 0; sent < pieces; sent += 1) {
      socket.write(piece);
      await socket.passInterval();
    }
    socket.write('{}');
    expect(await socket.answer).to.contain('read');

    socket.close();
    socket = await openPacedSocket(server, PACE_MS);
    socket.write(`${head('Content-Length: 2')}{`);
    await socket.passInterval();
    socket.write('}');
    expect(await socket.answer).to.contain('read');
  });
});
