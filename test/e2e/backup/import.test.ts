/** The move from SQLite to PostgreSQL. */

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { sharedPostgres } from '../../support/databases/postgres.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const LIMIT = 2;
const LATE = 3;

describe('a gateway that moves from SQLite to PostgreSQL', () => {
  let folder: string;
  let databaseUrl: string;
  let drop: () => Promise<void>;
  let gateway: GatewayProcess | undefined;

  before(async function () {
    const postgres = await sharedPostgres();
    if ('unavailable' in postgres) return this.skip();
    databaseUrl = await postgres.createDatabase();
    drop = () => postgres.dropDatabase(databaseUrl);
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-import-'));
  });

  after(async () => {
    await gateway?.kill();
    await drop?.();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const start = (name: string, environment: Record<string, string>) =>
    startGatewayProcess({ dataFolder: path.join(folder, name), environment: { LOG_LEVEL: 'silent', ...environment } });

  const authorization = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

  function submit(on: GatewayProcess, key: string, prompt: string) {
    const headers = { ...authorization(key), 'idempotency-key': prompt };
    const body = JSON.stringify({ model: 'gen-img-2', prompt, size: '64x64' });
    return on.request('/v1/images/jobs', { method: 'POST', headers, body });
  }

  const poll = async (on: GatewayProcess, key: string, id: string) =>
    (await on.request(`/v1/images/jobs/${id}`, { headers: authorization(key) })).json;

  it('returns the same answers there, and continues waiting jobs', async () => {
    const first = await start('old', { IMAGE_WORKERS: '1' });
    const { key } = await first.makeKey({ grants: ['images'] });
    const done = (await submit(first, key, 'done')).json.id;
    const before = await until(async () => {
      const job = await poll(first, key, done);
      return job.status === 'completed' && job;
    }, 100);
    expect(await first.stop()).to.equal(0);

    const second = await start('old', { IMAGE_WORKERS: '0' });
    const waiting: string[] = [];
    for (let number = 0; number < LATE; number += 1) {
      waiting.push((await submit(second, key, `late-${number}`)).json.id);
    }
    const limited = await second.makeKey({ grants: ['images'], rpm: LIMIT });

    const settings = { DATABASE_URL: databaseUrl, DATA_DIR: path.join(folder, 'new'), LOG_LEVEL: 'silent' };
    const bring = () => runCommand(['import', '--from', path.join(folder, 'old')], settings);
    const early = await bring();
    expect([early.code, early.stdout]).to.deep.equal([2, '']);
    expect(early.stderr).to.match(/^mediagate: Another process has .*state\.sqlite open\. Stop the gateway/);

    for (let number = 0; number < LIMIT; number += 1) {
      const taken = await submit(second, limited.key, `limited-${number}`);
      expect(taken.status, taken.text).to.equal(202);
    }
    expect(await second.stop()).to.equal(0);
    const brought = await bring();
    expect([brought.code, brought.stderr]).to.deep.equal([0, '']);
    expect(brought.stdout)
      .to.match(/^TABLE +ROWS\n/)
      .and.to.match(/\napi_keys +2\n/)
      .and.to.match(new RegExp(`\\njobs +${1 + LATE + LIMIT}\\n`))
      .and.to.contain('1 files were copied')
      .and.to.match(/2 of its keys need the secret/);

    await cp(path.join(folder, 'old', 'secrets'), path.join(folder, 'new', 'secrets'), { recursive: true });
    gateway = await start('new', { DATABASE_URL: databaseUrl, IMAGE_WORKERS: '1' });
    expect((await submit(gateway, limited.key, 'one-too-many')).status).to.equal(429);
    const after = await poll(gateway, key, done);
    const address = (url: string) => new URL(url).pathname;
    const [picture, same] = [before.data[0], after.data[0]];
    expect({ ...after, data: [] }).to.deep.equal({ ...before, data: [] });
    expect(address(same.url)).to.equal(address(picture.url));
    const file = await fetch(gateway.url + address(same.url), { headers: authorization(key) });
    expect([file.status, (await file.bytes()).length]).to.deep.equal([200, picture.bytes]);
    for (const [number, id] of waiting.entries()) {
      const again = await submit(gateway, key, `late-${number}`);
      expect([again.status, again.json.id]).to.deep.equal([202, id]);
    }
    for (const id of waiting) {
      const running = gateway;
      const job = await until(async () => {
        const found = await poll(running, key, id);
        return found.pending === 0 && found;
      }, 100);
      expect(job.status).to.equal('completed');
    }
  });

  it('names the missing option of a command', async () => {
    const from = path.join(folder, 'lone');
    await runCommand(['keys', 'create'], { DATA_DIR: from });
    const bare = await runCommand(['import', '--from', from], { DATA_DIR: from });
    expect([bare.code, bare.stdout]).to.deep.equal([2, '']);
    expect(bare.stderr).to.contain('DATABASE_URL');
    const nothing = await runCommand(['import'], { DATA_DIR: from });
    expect([nothing.code, nothing.stdout]).to.deep.equal([2, '']);
    expect(nothing.stderr).to.contain('--from');
    const away = { DATA_DIR: path.join(folder, 'away'), DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/x' };
    const refused = await runCommand(['import', '--from', from], away);
    expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
    expect(refused.stderr).to.contain('connection refused').and.not.to.contain('hunter2');
    const there = { ...away, DATABASE_URL: databaseUrl };
    await runCommand(['keys', 'create'], there);
    const full = await runCommand(['import', '--from', from], there);
    expect([full.code, full.stdout]).to.deep.equal([2, '']);
    expect(full.stderr).to.match(/is not empty; it has rows in .*api_keys \(\d\)/);
  });
});
