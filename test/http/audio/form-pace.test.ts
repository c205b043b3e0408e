/** The minimum pace of audio uploads. */

import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createGateway, type Gateway, isGatewayError } from 'mediagate';
import { BodyBudget } from '../../../server/http/bodies/body-budget.js';
import { useAudioForm } from '../../../server/http/bodies/form.js';
import { openPacedSocket, type PacedSocket } from '../../support/http/paced-socket.js';

const MEGABYTE = 1024 * 1024;
const PACE_MS = 400;
const SOUND = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

describe('pace of audio forms', () => {
  let folder: string;
  let gateway: Gateway;
  let server: Server;
  let budget: BodyBudget;
  let socket: PacedSocket | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-forms-'));
    gateway = await createGateway({ plugins: [], scratchFolder: path.join(folder, 'scratch') });
    budget = new BodyBudget({ bigBodies: 3, paceMs: PACE_MS });
    server = createServer(async (request, response) => {
      const { signal } = new AbortController();
      const limits = { audio: gateway.audio, audioFields: ['file'], maxBytes: 4 * MEGABYTE, budget, signal };
      const answer = await useAudioForm(
        request,
        response,
        { ...limits, owner: 'one', fingerprinted: true },
        async ({ audio }) => audio?.size,
      ).catch((error: unknown) => error);
      response.end(isGatewayError(answer) ? answer.code : `read ${answer}`);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    socket?.close();
    server.closeAllConnections();
    server.close();
    await gateway.close();
    await rm(folder, { recursive: true, force: true });
  });

  const head = (framing: string) =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nConnection: close\r\n${framing}\r\n\r\n`;

  it('ends uploads that stall or drip, and frees their file and place', async () => {
    for (const drips of [false, true]) {
      const client = await openPacedSocket(server, PACE_MS);
      socket = client;
      client.write(`${head('Content-Length: 3000000')}${SOUND}OggS`);
      await client.passIntervals(() => drips && client.write('OggS'));
      expect(await client.answer).to.contain('request_timeout');
      expect(await readdir(path.join(folder, 'scratch'))).to.deep.equal([]);
      expect(budget.taken()).to.deep.equal({ small: 0, big: 0 });
      client.close();
    }
  });

  it('accepts uploads that keep the pace for any time', async () => {
    const piece = Buffer.alloc(256 * 1024, 'OggS');
    const tail = '\r\n--b--\r\n';
    const pieces = 10;
    socket = await openPacedSocket(server, PACE_MS);
    socket.write(head(`Content-Length: ${SOUND.length + pieces * piece.length + tail.length}`) + SOUND);
    for (let sent = 0; sent < pieces; sent += 1) {
      socket.write(piece);
      await socket.passInterval();
    }
    socket.write(tail);
    expect(await socket.answer).to.contain(`read ${pieces * piece.length}`);
  });
});
