/** Several workers of one machine behind one port: sharing, death, reload and end. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { describeOnFirstStack, type StackPlace } from '../../support/databases/stacks.js';
import { childrenOf } from '../../support/processes/child-processes.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

/** Requests are open all the time, and leave the cores to the processes that start. */
const CLIENTS = 6;
const PAUSE_MS = 60;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // No such process.
    return false;
  }
}

describeOnFirstStack('several workers', (stack) => {
  let place: StackPlace;
  let dataFolder: string;
  let gateway: GatewayProcess;
  let key: string;

  before(async () => {
    place = await stack.place();
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-workers-'));
    gateway = await start();
    ({ key } = await gateway.makeKey({ grants: ['text', 'images'] }));
  });
  after(async () => {
    await gateway?.stop();
    await place?.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  async function start(more: Record<string, string> = {}): Promise<GatewayProcess> {
    const environment = { ...place.environment, WORKERS: '2', METRICS_PUBLIC: 'on', ...more };
    const started = await startGatewayProcess({ environment, dataFolder });
    await until(async () => (await healthOf(started)).workers.ok);
    return started;
  }

  async function healthOf({ request }: GatewayProcess) {
    const { json } = await request('/health');
    return { ...json.checks, workers: json.checks.workers ?? { ok: false } };
  }

  /** @param connection What becomes of the connection. Default: a new one for each request. */
  function chat(connection: 'close' | 'keep-alive' = 'close') {
    return gateway.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection },
      body: JSON.stringify({ model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] }),
    });
  }

  /** Sends chats until it is stopped, a hundred a second at most. Resolves with how many ended in which way. */
  function load() {
    const counts: Record<string, number> = {};
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!isOver) {
        const outcome = await chat().then(
          ({ status }) => String(status),
          (error: Error & { cause?: { code?: string } }) => error.cause?.code ?? error.message,
        );
        counts[outcome] = (counts[outcome] ?? 0) + 1;
        await sleep(PAUSE_MS);
      }
    });
    return {
      counts,
      async stop() {
        isOver = true;
        await Promise.all(clients);
        return counts;
      },
    };
  }

  async function countChats(): Promise<number> {
    const { text } = await gateway.request('/metrics');
    const line = /^mediagate_model_requests_total\{.*status="200"\} (\d+)/m.exec(text);
    return Number(line?.[1] ?? 0);
  }

  /** Until it is accepted: a busy machine refuses with 503 what its database cannot answer in time. */
  function submit(prompt: string): Promise<string> {
    return until(async () => {
      const { status, json, text } = await gateway.request('/v1/images/jobs', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gen-img-2', prompt }),
      });
      expect(status, text).to.be.oneOf([202, 503]);
      return status === 202 && json.id;
    });
  }

  async function ended(id: string) {
    const headers = { authorization: `Bearer ${key}` };
    return until(async () => {
      const { json } = await gateway.request(`/v1/images/jobs/${id}`, { headers }).catch(() => ({ json: undefined }));
      return ['completed', 'failed', 'cancelled'].includes(json?.status) ? json : undefined;
    });
  }

  it('answer requests in turn, and count them together', async () => {
    expect(gateway.output()).to.contain('2 workers answer requests');
    expect(await countChats()).to.equal(0);
    for (let count = 0; count < 8; count += 1) expect((await chat()).status).to.equal(200);
    for (let count = 0; count < 4; count += 1) expect(await countChats()).to.equal(8);
  });

  it('count refused keys of an address together', async () => {
    const readModels = (bearer: string) =>
      gateway.request('/v1/models', { headers: { authorization: `Bearer ${bearer}`, connection: 'close' } });
    const refused = await Promise.all(Array.from({ length: 300 }, () => readModels('wrong')));
    expect(new Set(refused.map(({ status }) => status))).to.deep.equal(new Set([401]));
    for (let count = 0; count < 4; count += 1) expect((await readModels('wrong')).status).to.equal(429);
  });

  it('are replaced one after the other on SIGHUP without a lost request, and keep their counts', async () => {
    const [before, counted] = await Promise.all([childrenOf(gateway.pid), countChats()]);
    const clients = load();
    process.kill(gateway.pid, 'SIGHUP');
    await until(async () => gateway.output().includes('Reloaded.'));
    await sleep(500);
    const counts = await clients.stop();
    expect(Object.keys(counts)).to.deep.equal(['200']);
    const all = counted + (counts['200'] ?? 0);
    expect(await countChats()).to.equal(all);
    await until(async () => !before.some(isAlive));
    expect(await childrenOf(gateway.pid)).to.have.length(2);
    expect(await countChats()).to.equal(all);
  });

  it('lose no accepted job when each of them is killed, and are started again', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, index) => submit(`A tug in harbour ${index}`)));
    for (const pid of await childrenOf(gateway.pid)) {
      process.kill(pid, 'SIGKILL');
      await until(async () => {
        const pids = await childrenOf(gateway.pid);
        return pids.length === 2 && !pids.includes(pid);
      });
      await until(async () => (await healthOf(gateway).catch(() => undefined))?.workers.ok);
    }
    const jobs = await Promise.all(ids.map(ended));
    expect(jobs.map(({ status }) => status)).to.deep.equal(ids.map(() => 'completed'));
  });

  it('finish their requests and exit when their supervisor is killed, and free its port at once', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, (_, index) => submit(`A tug in harbour ${index}`)));
    const workers = await childrenOf(gateway.pid);
    const { port } = new URL(gateway.url);
    process.kill(gateway.pid, 'SIGKILL');
    await until(async () => !isAlive(gateway.pid));
    gateway = await start({ PORT: port });
    await until(async () => !workers.some(isAlive));
    const jobs = await Promise.all(ids.map(ended));
    expect(jobs.map(({ status }) => status)).to.deep.equal(ids.map(() => 'completed'));
  });

  it('end on SIGTERM with exit code 0, and answer every request until they announce the end of its connection', async () => {
    // A connection that the system completes while the port closes is reset, which no process can prevent.
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (;;) {
        const { status, headers, text } = await chat('keep-alive');
        expect(status, text).to.equal(200);
        if (headers.get('connection') === 'close') return;
        await sleep(PAUSE_MS);
      }
    });
    await sleep(500);
    expect(await gateway.stop()).to.equal(0);
    await Promise.all(clients);
  });
});

describe('a reload or restart', () => {
  let dataFolder: string;
  let settings: string;
  let plans: string;
  let gateway: GatewayProcess;

  before(async () => {
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-reload-'));
    [settings, plans] = [path.join(dataFolder, 'mediagate.env'), path.join(dataFolder, 'plans.json')];
    await writeFile(plans, JSON.stringify({ plans: [] }));
    await writeFile(settings, 'SITE_URL=https://one.example\nWORKERS=2\n', { mode: 0o600 });
    gateway = await startGatewayProcess({ environment: { WORKERS: '', PLANS_FILE: plans }, dataFolder });
    await until(async () => (await gateway.request('/health')).json.checks.workers?.ok);
  });
  after(async () => {
    await gateway?.stop();
    await rm(dataFolder, { recursive: true, force: true });
  });

  it('with a file that cannot be used keeps the old workers, and reports it', async () => {
    const before = await childrenOf(gateway.pid);
    await writeFile(plans, '{');
    process.kill(gateway.pid, 'SIGHUP');
    await until(async () => gateway.output().includes('Not reloaded'));
    expect(await childrenOf(gateway.pid)).to.deep.equal(before);
    expect((await gateway.request('/health/ready')).status).to.equal(200);
    await writeFile(plans, JSON.stringify({ plans: [] }));
  });

  it('takes new settings from the settings file', async () => {
    // The error about a missing key names the site.
    const askWithoutKey = async () => (await gateway.request('/v1/models', { headers: { connection: 'close' } })).text;
    expect(await askWithoutKey()).to.contain('https://one.example');
    await writeFile(settings, 'SITE_URL=https://two.example\n');
    process.kill(gateway.pid, 'SIGHUP');
    await until(async () => gateway.output().includes('Reloaded.'));
    // Connections that are open stay with the worker that had them.
    await until(async () => (await askWithoutKey()).includes('https://two.example'));
  });

  it('does not delay the end of the gateway, nor does a worker that is starting', async () => {
    const before = await childrenOf(gateway.pid);
    // The newest: one that was replaced may still end.
    process.kill(before.at(-1) ?? 0, 'SIGKILL');
    await until(async () => (await childrenOf(gateway.pid)).some((pid) => !before.includes(pid)));
    expect(await gateway.stop()).to.equal(0);
    expect(gateway.output().match(/starts again/g)).to.have.length(1);
  });
});
