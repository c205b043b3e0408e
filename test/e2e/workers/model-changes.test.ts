/** Changes of models reach all workers and another node, outlive a killed worker, a reload and a restart. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { childrenOf } from '../../support/processes/child-processes.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const TRIES = 6;

describeOnStacks('changes of models in several processes', (stack) => {
  let place: StackPlace;
  let dataFolder: string;
  let upstream: TextUpstream;
  let environment: Record<string, string>;
  let gateway: GatewayProcess;
  let node: GatewayProcess;
  let admin: string;
  let key: string;

  before(async () => {
    place = await stack.place();
    upstream = await startTextUpstream();
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-models-'));
    environment = { ...place.environment, TRUSTED_ORIGINS: new URL(upstream.baseUrl).origin };
    gateway = await start('2');
    node = await start('1');
    ({ key: admin } = await gateway.makeKey({ grants: ['admin'] }));
    ({ key } = await gateway.makeKey({ grants: ['text'] }));
  });
  after(async () => {
    await Promise.all([gateway?.stop(), node?.stop()]);
    await upstream?.close();
    await place?.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  async function start(workers: string): Promise<GatewayProcess> {
    const started = await startGatewayProcess({ environment: { ...environment, WORKERS: workers }, dataFolder });
    if (workers === '2') await until(async () => (await started.request('/health')).json.checks.workers?.ok === true);
    return started;
  }

  const send = (path: string, body: object, token = admin, at = gateway) =>
    at.request(path, {
      method: 'POST',
      // A new connection each, so that the workers take turns.
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    });
  const chat = (model: string, at = gateway) =>
    send('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Ahoy!' }] }, key, at);
  const statuses = async (model: string, at = gateway) => {
    const found = await Promise.all(Array.from({ length: TRIES }, () => chat(model, at)));
    return [...new Set(found.map(({ status }) => status))];
  };

  it('are followed by all workers at once, and by another node within seconds', async () => {
    const off = await send('/v1/admin/models/m-5.5', { enabled: false });
    expect(off.status, off.text).to.equal(200);
    await until(async () => (await statuses('m-5.5')).join() === '400');
    await until(async () => (await statuses('m-5.5', node)).join() === '400');
    const on = await runCommand(['models', 'update', 'm-5.5', '--on'], { ...environment, DATA_DIR: dataFolder });
    expect([on.code, on.stderr], on.stderr).to.deep.equal([0, '']);
    await until(async () => (await statuses('m-5.5')).join() === '200');
    await until(async () => (await statuses('m-5.5', node)).join() === '200');
  });

  onceIt(stack)('outlive a killed worker, a reload and a restart', async () => {
    const body = { id: 'team-llama', url: upstream.baseUrl, key: 'sk-of-the-team' };
    expect((await send('/v1/admin/models', body)).status).to.equal(200);
    await until(async () => (await statuses('team-llama')).join() === '200');
    await until(async () => (await statuses('team-llama', node)).join() === '200');
    const [worker] = await childrenOf(gateway.pid);
    process.kill(worker!, 'SIGKILL');
    await until(async () => (await childrenOf(gateway.pid)).length === 2);
    await until(async () => (await gateway.request('/health')).json.checks.workers?.ok === true);
    expect(await statuses('team-llama')).to.deep.equal([200]);
    await node.stop();
    node = await start('1');
    expect(await statuses('team-llama', node)).to.deep.equal([200]);
    expect(upstream.requests.every(({ headers }) => headers.authorization === 'Bearer sk-of-the-team')).to.equal(true);
  });
});
