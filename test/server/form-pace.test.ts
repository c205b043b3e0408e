import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createGateway, type Gateway, isGatewayError } from 'mediagate';
import { type BodyBudget, createBodyBudget } from '../../server/middleware/body-budget.js';
import { useSoundForm } from '../../server/middleware/form.js';

const MEGABYTE = 1024 * 1024;
const PACE_MS = 400;
const SOUND = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

describe('the pace of forms with a sound', () => {
  let folder: string;
  let gateway: Gateway;
  let server: Server;
  let budget: BodyBudget;
  let socket: Socket;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-forms-'));
    gateway = await createGateway({ plugins: [], scratchFolder: path.join(folder, 'scratch') });
    budget = createBodyBudget({ bigBodies: 3 });
    server = createServer(async (request, response) => {
      const { signal } = new AbortController();
      const limits = { audio: gateway.audio, soundNames: ['file'], maxBytes: 4 * MEGABYTE, budget, signal };
      const answer = await useSoundForm(
        request,
        response,
        { ...limits, keyId: 'one', paceMs: PACE_MS },
        async ({ sound }) => sound?.size,
      ).catch((error: unknown) => error);
      response.end(isGatewayError(answer) ? answer.code : `read ${answer}`);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  });
  afterEach(async () => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
    await gateway.close();
    await rm(folder, { recursive: true, force: true });
  });

  const head = (framing: string) =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nConnection: close\r\n${framing}\r\n\r\n`;

  async function answerOf(): Promise<string> {
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    return text.split('\r\n\r\n').at(-1) ?? '';
  }

  it('is asked of those that stall or drip, which leave neither a file nor a place behind', async () => {
    for (const drips of [false, true]) {
      socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.write(`${head('Content-Length: 3000000')}${SOUND}OggS`);
      const drip = drips ? setInterval(() => socket.write('OggS'), PACE_MS / 20) : undefined;
      expect(await answerOf()).to.contain('request_timeout');
      clearInterval(drip);
      expect(await readdir(path.join(folder, 'scratch'))).to.deep.equal([]);
      budget.reserve('one', 2 * MEGABYTE)();
    }
  });

  it('lets those pass that keep it, however long they take', async () => {
    const piece = Buffer.alloc(256 * 1024, 'OggS');
    const tail = '\r\n--b--\r\n';
    const pieces = 10;
    socket.write(head(`Content-Length: ${SOUND.length + pieces * piece.length + tail.length}`) + SOUND);
    const answer = answerOf();
    for (let sent = 0; sent < pieces; sent += 1) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, PACE_MS / 4));
    }
    socket.write(tail);
    expect(await answer).to.contain(`read ${pieces * piece.length}`);
  });
});
