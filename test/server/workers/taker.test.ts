/** Connections on their way to a worker that is killed. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { takerOf } from '../../../server/workers/taker.js';

const COUNT = 5;

/** Says which connections it has, and from the third on does nothing more. */
const WORKER = `
let count = 0;
process.on('message', ({ number }, socket) => {
  count += 1;
  while (count === 3) {}
  process.send({ type: 'taken', number });
  socket.end('worker');
});
process.send({ type: 'ready' });
`;

describe('connections on their way to a worker', () => {
  it('are given back if it is killed before it has them, and reach their clients unharmed', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-taker-'));
    const program = path.join(folder, 'worker.cjs');
    await writeFile(program, WORKER);
    const child = fork(program, [], { execArgv: [], serialization: 'advanced' });
    await once(child, 'message');
    const taker = takerOf(child);
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const results: boolean[] = [];
    const dealt: Promise<void>[] = [];
    server.on('connection', (socket: Socket) => {
      const deal = async () => {
        const isTaken = await taker.take('product', socket);
        results.push(isTaken);
        if (!isTaken) socket.end('another');
      };
      dealt.push(deal());
    });
    const answers = Array.from({ length: COUNT }, () => read(connect(port, '127.0.0.1')));
    const first = await Promise.race([...answers, sleep(5_000, 'late', { ref: false })]);
    expect(first).to.equal('worker');
    child.kill('SIGKILL');
    const all = await Promise.all(answers);
    await Promise.all(dealt);
    server.close();
    await rm(folder, { recursive: true });
    // The second may still have been on its way.
    expect(all.filter((text) => text === 'another')).to.have.length.within(3, 4);
    expect(all.filter((text) => text === 'worker')).to.have.length(results.filter(Boolean).length);
  });
});

async function read(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}
