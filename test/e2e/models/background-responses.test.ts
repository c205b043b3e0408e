/** Responses in the background of killed gateways. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { describeOnFirstStack, type StackPlace } from '../../support/databases/stacks.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const ROUTE = '/v1/responses';
const QUESTION = { model: 'm-5.5', input: 'Say something about Ostend.', background: true };
const TEXT = 'Ostend is by the sea. '.repeat(2_000);

describeOnFirstStack('responses in the background of gateways that are killed', (stack) => {
  let place: StackPlace;
  let dataFolder: string;
  let upstream: TextUpstream;
  const nodes: GatewayProcess[] = [];

  beforeEach(async () => {
    [place, upstream] = await Promise.all([stack.place(), startTextUpstream()]);
    upstream.behave(() => ({ does: 'answer', text: TEXT }));
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-background-'));
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.kill()));
    await upstream.close();
    await place.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  async function start(): Promise<GatewayProcess> {
    const environment = { TEXT_UPSTREAM_URL: upstream.baseUrl, ...place.environment };
    const node = await startGatewayProcess({ dataFolder, environment });
    nodes.push(node);
    return node;
  }

  it('are polled again by later processes, and counted once by their usage', async () => {
    const first = await start();
    const { key } = await first.makeKey({ grants: ['text'] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const made = await first.request(ROUTE, { method: 'POST', headers, body: JSON.stringify(QUESTION) });
    // Not a moment after it was told.
    await first.kill();
    upstream.endBackground('completed');

    const { id } = made.json;
    const [second, last] = [await start(), await start()];
    const seen = await second.request(`${ROUTE}/${id}`, { headers });
    // It knows what was used by now, and has no time to write it down.
    await second.kill();
    expect(seen.json).to.include({ id, status: 'completed' });
    expect((await last.request(`${ROUTE}/${id}`, { headers })).json).to.include({ id, status: 'completed' });
    const total = await until(async () => {
      const { json } = await last.request('/v1/usage', { headers });
      return json.total.requests > 0 && json.total.estimated === 0 && json.total;
    }, 100);
    const used = upstream.requests[0]?.usage;
    expect(total).to.include({ requests: 1, failed: 0, input_tokens: used?.input, output_tokens: used?.output });
    expect(total.output_tokens).to.be.greaterThan(2_000);
  });

  it('are counted when the process is killed in a stream, without a poll of a client', async () => {
    const first = await start();
    const { key } = await first.makeKey({ grants: ['text'] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    upstream.behave(() => ({ does: 'answer', text: TEXT, stall: { events: 3 } }));
    const body = JSON.stringify({ ...QUESTION, stream: true });
    const stream = await fetch(first.url + ROUTE, { method: 'POST', headers, body });
    await stream.body?.getReader().read();
    const usageOf = async (node: GatewayProcess) => (await node.request('/v1/usage', { headers })).json.total;
    await until(async () => (await usageOf(first)).estimated === 1, 100);
    await first.kill();
    upstream.endBackground('completed');

    const after = await start();
    const total = await until(async () => {
      const found = await usageOf(after);
      return found.estimated === 0 && found;
    }, 100);
    const used = upstream.requests[0]?.usage;
    expect(total).to.include({ requests: 1, input_tokens: used?.input, output_tokens: used?.output });
  });
});
