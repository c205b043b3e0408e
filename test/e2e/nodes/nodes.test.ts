/** Nodes of one gateway and their roles. */

import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { isProcessRunning } from '../../../core/runtime/errors.js';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { modernClient } from '../../http/mcp/client.js';
import { signUp } from '../../support/accounts/people.js';
import { type Place, postgresEngine } from '../../support/databases/engines.js';
import { type ReceivedWebhook, startWebhookReceiver } from '../../support/http/webhook-receiver.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import type { Environment } from '../../support/processes/command-line.js';
import type { GatewayProcess, HttpAnswer } from '../../support/processes/gateway-process.js';
import { type Nodes, openNodes } from '../../support/processes/nodes.js';
import { longIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const IMAGE = { model: 'gen-img-2', prompt: 'A tug at dawn' };
const CHAT = { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] };
const SHOP = linkSamples.find(({ platform }) => platform === 'clip_shop')?.url ?? '';
/** A key may poll twenty times a second. */
const POLL_MS = 100;

describe('nodes of one gateway', () => {
  let place: Place;
  let proxy: ReplayingProxy;
  let nodes: Nodes;
  let api: GatewayProcess;
  let other: GatewayProcess;
  let key: string;
  const started: GatewayProcess[] = [];

  before(async function () {
    place = await postgresEngine.place(this);
    proxy = await startReplayingProxy({ answer: answersFromSamples(linkSamples) });
    nodes = await openNodes({ databaseUrl: place.databaseUrl ?? '' });
    [api, other] = await Promise.all([nodes.start('api'), nodes.start('api')]);
    key = await nodes.makeKey();
  });
  beforeEach(() => {
    nodes.images.reset();
    nodes.texts.reset();
  });
  afterEach(() => Promise.all(started.splice(0).map((node) => node.kill())));
  after(async () => {
    await nodes?.close();
    await proxy?.close();
    await place?.remove();
  });

  function ask(node: GatewayProcess, route: string, body?: object, shown = key): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${shown}`, 'content-type': 'application/json' };
    return node.request(route, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  }

  /** For one test. */
  async function start(...wanted: Parameters<Nodes['start']>): Promise<GatewayProcess> {
    const node = await nodes.start(...wanted);
    started.push(node);
    return node;
  }

  const throughProxy = (): Environment => ({ EGRESS_PROXY_URL: proxy.url, NODE_EXTRA_CA_CERTS: proxy.caPath });

  it('share the work: one accepts and answers, another runs it, and each shows it', async () => {
    const worker = await start('worker');
    const { status, json } = await ask(api, '/v1/images/jobs', IMAGE);
    expect(status).to.equal(202);
    const done = await ask(other, `/v1/images/jobs/${json.id}?wait=60`);
    expect(done.json.status).to.equal('completed');
    expect((await fetch(done.json.data[0].url)).status).to.equal(200);
    const blocking = await ask(api, '/v1/images/generations', IMAGE);
    expect(blocking.status, blocking.text).to.equal(200);
    expect(await worker.stop()).to.equal(0);
  });

  longIt('extract links on the node of the request, and background links on workers', async () => {
    const [front, worker] = await Promise.all([start('api', throughProxy()), start('worker', throughProxy())]);
    const [first, second] = linkSamples.filter(({ platform }) => platform !== 'clip_shop');
    const direct = await ask(front, '/v1/extract', { url: first?.url });
    expect(direct.status, direct.text).to.equal(200);
    const batch = await ask(front, '/v1/extract/batch', { urls: [SHOP, second?.url] });
    const [job, result] = batch.json.items;
    expect(result, batch.text).to.include({ ok: true });
    const done = await until(async () => {
      const { json } = await ask(front, `/v1/extract/jobs/${job.result.data.job.job_id}`);
      return json.data.job.status === 'completed' && json;
    }, POLL_MS);
    expect(done.data.product).to.have.property('product_id');
    for (const node of [front, worker]) expect(await node.stop()).to.equal(0);
  });

  it('serve only health and metrics if they only run jobs', async () => {
    const worker = await start('worker');
    expect((await ask(worker, '/v1/models')).status).to.equal(404);
    expect((await worker.request('/')).status).to.equal(404);
    expect((await worker.request('/health')).json).to.include({ ok: true });
    expect((await worker.request('/health/ready')).json).to.include({ status: 'ready' });
    expect((await worker.request('/metrics')).text).to.include('mediagate_jobs{kind="image",state="queued"}');
    await until(() => worker.output().includes('share this DATA_DIR'));
    expect(worker.output()).to.include('runs jobs');
    await worker.stop();
  });

  it('follow a command that changes a plan, a user or a key', async () => {
    const { id, accountId } = await signUp(nodes.state);
    const shown = await nodes.makeKey({ accountId });
    const codes = (code: string | undefined) =>
      until(async () => {
        const answers = await Promise.all([api, other].map((node) => ask(node, '/v1/capabilities', undefined, shown)));
        return answers.every(({ json }) => json.error?.code === code) && answers;
      }, POLL_MS);
    await codes(undefined);
    for (const [args, code] of [
      [['plans', 'grant', id, 'token_30m'], 'route_not_allowed'],
      [['users', 'suspend', id], 'account_suspended'],
      [['users', 'resume', id], 'route_not_allowed'],
      [['keys', 'revoke', shown.slice('sk-mg-'.length, 'sk-mg-'.length + 8)], 'revoked_api_key'],
    ] as const) {
      const done = await api.command(...args);
      expect(done.code, done.stderr).to.equal(0);
      await codes(code);
    }
  });

  it('pass jobs of a stopping worker to another, and exit with 0', async () => {
    const leaving = await start('worker', { SHUTDOWN_SECONDS: '0' });
    nodes.images.behave(() => ({ does: 'stall' }));
    const { json } = await ask(api, '/v1/images/jobs', IMAGE);
    await until(async () => (await nodes.state.jobs.find(json.id, 'local'))?.state === 'running');
    const staying = await start('worker');
    nodes.images.reset();
    expect(await leaving.stop()).to.equal(0);
    const done = await ask(api, `/v1/images/jobs/${json.id}?wait=60`);
    expect(done.json).to.include({ status: 'completed' });
    expect(done.json.items[0]).to.include({ attempts: 2 });
    await staying.stop();
  });

  it('deliver a webhook once if the delivering node is killed', async () => {
    const receiver = await startWebhookReceiver();
    try {
      const environment = {
        IMAGE_WEBHOOKS: 'on',
        IMAGE_WEBHOOK_ORIGINS: receiver.origin,
        IMAGE_WEBHOOK_SECRET: 'x'.repeat(32),
      };
      const accepting = await start('api', environment);
      const { json } = await ask(accepting, '/v1/images/jobs', { ...IMAGE, webhook_url: receiver.url('nodes') });
      await accepting.kill();
      await start('worker');
      await until(async () => (await nodes.state.jobs.find(json.id, 'local'))?.state === 'completed');
      expect([receiver.connections, await nodes.state.webhooks.waiting()]).to.deep.equal([0, 1]);
      const [first] = await Promise.all([start('api', environment), start('api', environment)]);
      const [{ body, headers }] = (await receiver.heard('nodes')) as [ReceivedWebhook];
      const { secret } = (await ask(first, '/v1/webhooks/secret')).json;
      expect(new Webhook(secret).verify(body, headers)).to.deep.include({ type: 'image.job.completed' });
      await until(async () => (await nodes.state.webhooks.waiting()) === 0);
      expect(receiver.of('nodes')).to.have.length(1);
    } finally {
      await receiver.close();
    }
  });

  it('keep the task of an agent when the node that took it is killed', async () => {
    const taking = await start('api');
    const input = { prompt: IMAGE.prompt };
    const { json: begun, text } = await modernClient(taking, key).call('generate_image', input, { tasks: true });
    const taskId = begun.result?.taskId;
    expect(taskId, text).to.match(/^imgjob_/);
    await taking.kill();
    const poll = async () => (await modernClient(other, key).send('tasks/get', { taskId })).json.result;
    expect((await poll()).status).to.equal('working');
    await start('worker');
    const done = await until(async () => {
      const task = await poll();
      return task.status === 'completed' && task;
    }, POLL_MS);
    expect(done.result.structuredContent.id).to.equal(taskId);
  });

  longIt('send a client that waits for its image to another node when they stop', async () => {
    const ending = await start('api');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'nodes' };
    const generate = (node: GatewayProcess) =>
      node.request('/v1/images/generations', { method: 'POST', headers, body: JSON.stringify(IMAGE) });
    const waiting = generate(ending);
    await until(async () => (await nodes.state.jobs.active('image')) > 0);
    const code = ending.stop();
    const told = await waiting;
    expect(told.json.error.code).to.equal('shutting_down');
    expect(told.headers.get('retry-after')).to.equal('1');
    expect(await code).to.equal(0);
    const worker = await start('worker');
    const { status, text } = await generate(other);
    expect(status, text).to.equal(200);
    expect(nodes.images.made).to.equal(1);
    await worker.stop();
  });

  longIt('end at once on a second signal', async () => {
    const ending = await start('api');
    nodes.texts.behave(() => ({ does: 'answer', stall: { events: 1 } }));
    const asked = nodes.texts.next();
    const cut = ask(ending, '/v1/chat/completions', { ...CHAT, stream: true }).catch(() => 'cut');
    await asked;
    process.kill(ending.pid, 'SIGTERM');
    await until(() => ending.output().includes('Press Ctrl-C again to stop at once'));
    await until(() => !isProcessRunning(ending.pid) || void process.kill(ending.pid, 'SIGTERM'), POLL_MS);
    expect(await ending.stop()).to.equal(1);
    expect(await cut).to.equal('cut');
  });
});
