/** Keys and slots of a process over kills and a drained stop. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import type { Environment } from '../../support/processes/command-line.js';
import { type MadeKey, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const LINK = 'https://youtu.be/mgState0001';

describeOnStacks('state of a process', (stack) => {
  let place: StackPlace;
  let proxy: ReplayingProxy;
  let dataFolder: string;

  before(async () => {
    proxy = await startReplayingProxy({ answer: () => ({ status: 404 }) });
  });

  after(() => proxy.close());

  beforeEach(async () => {
    place = await stack.place();
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-data-'));
  });

  afterEach(async () => {
    await place.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  const start = (environment: Environment = {}) =>
    startGatewayProcess({ proxy, dataFolder, environment: { ...place.environment, ...environment } });

  it('keeps keys and used slots after kill -9', async () => {
    const before = await start();
    const { key } = await before.makeKey({ rpm: 3 });
    const used = [await before.extract(key, { url: LINK }), await before.extract(key, { url: LINK })];
    expect(used.map(({ status }) => status)).not.to.include(429);
    await before.kill();

    const after = await start();
    try {
      const third = await after.extract(key, { url: LINK });
      const fourth = await after.extract(key, { url: LINK });
      expect(third.status).to.be.oneOf([422, 502]);
      expect(fourth.status).to.equal(429);
    } finally {
      await after.kill();
    }
  });

  it('applies keys that commands make or revoke at once', async () => {
    const gateway = await start();
    try {
      const make = async (name: string): Promise<MadeKey> => {
        const { stdout } = await gateway.command('keys', 'create', '--name', name, '--json');
        return JSON.parse(stdout);
      };
      const made = await Promise.all([make('one'), make('two')]);
      expect(new Set(made.map(({ key }) => key)).size).to.equal(2);
      for (const { key } of made) {
        expect((await gateway.extract(key, { url: 'not a link' })).status).to.equal(400);
      }

      const [first, second] = made;
      const revoked = await gateway.command('keys', 'revoke', first?.id ?? '');
      expect(revoked.code, revoked.stderr).to.equal(0);
      const refused = await until(async () => {
        const answer = await gateway.extract(first?.key ?? '', { url: 'not a link' });
        return answer.status === 401 && answer;
      }, 100);
      expect(refused.json.error.code).to.equal('revoked_api_key');
      expect((await gateway.extract(second?.key ?? '', { url: 'not a link' })).status).to.equal(400);

      const listed = await gateway.command('keys', 'list');
      expect(listed.stdout).to.include('two').and.not.include(second?.key);
    } finally {
      await gateway.kill();
    }
  });

  it('finishes running requests on SIGTERM, accepts no new ones, and exits with 0', async () => {
    const gateway = await start();
    const { key } = await gateway.makeKey();
    const arrived = new Promise<void>((resolve) => {
      proxy.setAnswer(() => {
        resolve();
        return { status: 404, delayMs: 400 };
      });
    });
    const inFlight = gateway.extract(key, { url: LINK });
    await arrived;
    const stopped = gateway.stop();
    const answered = await inFlight;
    expect(answered.status).to.be.oneOf([422, 502]);
    expect(await stopped).to.equal(0);
    const refused = await gateway.request('/health').then(
      () => undefined,
      (error: Error) => error,
    );
    expect(refused).to.be.instanceOf(Error);
  });

  it('has no secrets or bodies in logs or the data folder', async () => {
    const canary = { body: 'canaryUpstreamBody4711', query: 'canaryQuery4711', header: 'canaryHeader4711' };
    proxy.setAnswer(({ url }) => ({
      status: url.pathname === '/watch' ? 200 : 500,
      headers: { 'content-type': 'text/html', 'set-cookie': `session=${canary.header}` },
      body: `<html><body><script>throw new Error("${canary.body}")</script></body></html>`,
    }));
    const gateway = await start({ LOG_LEVEL: 'debug' });
    const { key } = await gateway.makeKey();
    const answers = [
      await gateway.extract(key, { url: `${LINK}?si=${canary.query}` }),
      await gateway.extract(`${key.slice(0, -4)}AAAA`, { url: LINK }),
      await gateway.extract(key, { url: `https://user:${canary.query}@www.youtube.com/watch?v=mgState0001` }),
      await gateway.request(`/nowhere?token=${canary.query}`, { headers: { cookie: canary.header } }),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([502, 401, 400, 404]);
    for (const { text } of answers) expect(text).not.to.include(canary.body).and.not.include(canary.header);
    expect(await gateway.stop()).to.equal(0);

    const output = gateway.output();
    expect(output, 'the log').to.include('/v1/extract');
    const hidden = key.slice('sk-mg-'.length + 9);
    for (const secret of [...Object.values(canary), hidden]) {
      expect(output, 'the log').not.to.include(secret);
      for (const [file, bytes] of await readAll(dataFolder)) {
        expect(bytes.includes(secret), `${secret} in ${file}`).to.equal(false);
      }
    }
  });
});

async function readAll(folder: string): Promise<[string, Buffer][]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return Promise.all(files.map(async (file): Promise<[string, Buffer]> => [file, await readFile(file)]));
}
