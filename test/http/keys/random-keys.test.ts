/** An address that tries random keys beside clients with valid ones. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { createKeyRecord, createPepper } from '../../../server/keys/index.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const KEYS = 1_500;
const SOCKETS = 25;
/** Refused keys of one address in a minute. */
const ALLOWED = 300;

describe('an address that tries random keys', () => {
  let app: ListeningApp;
  let agent: Agent;

  before(async () => {
    app = await startApp();
    // Another client than the tests' own: all of 127.0.0.0/8 is this machine.
    agent = new Agent({ keepAlive: true, maxSockets: SOCKETS, localAddress: '127.0.0.2' });
  });
  after(async () => {
    agent.destroy();
    await app.close();
  });

  async function ask(key: string): Promise<{ status: number; code?: string; retryAfter?: string }> {
    const { port } = app;
    const headers = { authorization: `Bearer ${key}` };
    const asking = request({ agent, host: '127.0.0.1', port, path: '/v1/capabilities', headers }).end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const { error } = JSON.parse(Buffer.concat(chunks).toString());
    return { status: answer.statusCode ?? 0, code: error?.code, retryAfter: answer.headers['retry-after'] };
  }

  it('is refused, then slowed down, while valid keys keep working there and elsewhere', async () => {
    const good = await app.makeKey();
    // Where a key is made it is known from then on; other nodes read it within seconds.
    await app.keys.refresh();
    const pepper = createPepper(randomBytes(32));
    const wanted = { name: 'guess', grants: ['extract'], rpm: null, expiresAt: null } as const;
    // Well-formed, so that each costs all that a wrong key can cost.
    const guesses = Array.from({ length: KEYS }, () => createKeyRecord(wanted, pepper, 0).key);
    const answers: Awaited<ReturnType<typeof ask>>[] = [];
    const mine: number[] = [];
    const theirs: number[] = [];
    let over = false;
    const flood = Promise.all(
      Array.from({ length: SOCKETS }, async (_, worker) => {
        for (let index = worker; index < KEYS; index += SOCKETS) answers.push(await ask(guesses[index] ?? ''));
      }),
    ).finally(() => {
      over = true;
    });
    while (!over) {
      mine.push((await app.extract(good, { url: LINK })).status);
      theirs.push((await ask(good)).status);
    }
    await flood;
    theirs.push((await ask(good)).status);
    const codes = Map.groupBy(answers, ({ status, code }) => `${status} ${code}`);
    expect([...codes.keys()].sort()).to.deep.equal(['401 invalid_api_key', '429 rate_limit_exceeded']);
    // Those that were under way when the last one was counted are told what they are.
    expect(codes.get('401 invalid_api_key')).to.have.length.within(ALLOWED, ALLOWED + SOCKETS);
    for (const { retryAfter } of codes.get('429 rate_limit_exceeded') ?? []) {
      expect(Number(retryAfter)).to.be.within(1, 60);
    }
    expect(new Set(mine)).to.deep.equal(new Set([200]));
    expect(new Set(theirs)).to.deep.equal(new Set([200]));
    // A mistake of somebody else is told as what it is.
    const mistaken = await app.extract(guesses[0] ?? '', { url: LINK });
    expect([mistaken.status, mistaken.json.error.code]).to.deep.equal([401, 'invalid_api_key']);
    for (const guess of guesses.slice(0, 50)) expect(JSON.stringify(app.log)).not.to.contain(guess.slice(15));
  });
});
