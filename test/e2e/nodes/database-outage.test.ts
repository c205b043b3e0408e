/** A node without its database: what it serves, refuses and recovers. */

import { expect } from 'chai';
import { createKey } from '../../../server/keys/keys.js';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { ownPostgres } from '../../support/databases/postgres-outage.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import type { GatewayProcess, HttpAnswer } from '../../support/processes/gateway-process.js';
import { type Nodes, openNodes } from '../../support/processes/nodes.js';
import { until } from '../../support/until.js';

const IMAGE = { model: 'gen-img-2', prompt: 'A tug at dawn', size: '256x256' };
const LINK = linkSamples.find(({ platform }) => platform !== 'clip_shop')?.url ?? '';
/** Between two looks. */
const POLL_MS = 50;

describe('a node without its database', () => {
  const postgres = ownPostgres();
  let proxy: ReplayingProxy;
  let nodes: Nodes;
  let node: GatewayProcess;

  before(async () => {
    proxy = await startReplayingProxy({ answer: answersFromSamples(linkSamples) });
    nodes = await openNodes({ databaseUrl: postgres.place.databaseUrl ?? '' });
    node = await nodes.start(undefined, {
      EGRESS_PROXY_URL: proxy.url,
      NODE_EXTRA_CA_CERTS: proxy.caPath,
      // The stand-in draws without an upstream.
      IMAGE_UPSTREAM_URL: '',
    });
  });
  after(async () => {
    await nodes?.close();
    await proxy?.close();
  });

  function ask(key: string, route: string, body?: object, more: Record<string, string> = {}): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more };
    return node.request(route, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  }

  const whenReadiness = (status: number) =>
    until(async () => {
      const answer = await node.request('/health/ready');
      return answer.status === status && answer;
    }, POLL_MS);

  it('reports it, serves what needs no database, refuses the rest completely, and recovers', async () => {
    const [key, limited] = [await nodes.makeKey(), await nodes.makeKey({ rpm: 3 })];
    const submit = (name: string) => ask(key, '/v1/images/jobs', IMAGE, { 'idempotency-key': name });
    const made = await submit('before');
    const { json: done } = await ask(key, `/v1/images/jobs/${made.json.id}?wait=60`);
    expect(done.status, JSON.stringify(done)).to.equal('completed');
    expect((await ask(key, '/v1/extract', { url: LINK })).status).to.equal(200);
    expect((await ask(limited, '/v1/extract', { url: LINK })).headers.get('x-cache')).to.equal('hit');

    const bringBack = await postgres.takeAway();
    const unready = await whenReadiness(503);
    expect(unready.json).to.deep.equal({ ok: false, status: 'database_unavailable' });
    const { json: health, status } = await node.request('/health');
    expect(status).to.equal(200);
    expect(health).to.nested.include({
      status: 'degraded',
      'checks.database.ok': false,
      'checks.data_folder.ok': true,
    });

    expect((await ask(key, '/v1/models')).status).to.equal(200);
    expect((await ask(`${key.slice(0, -1)}_`, '/v1/models')).json.error.code).to.equal('invalid_api_key');
    expect((await fetch(done.data[0].url)).status).to.equal(200);
    const cached = await ask(key, '/v1/extract', { url: LINK });
    expect([cached.status, cached.headers.get('x-cache')]).to.deep.equal([200, 'hit']);
    const refusals = await Promise.all([
      submit('meanwhile'),
      ask(key, '/v1/images/generations', IMAGE),
      ask(limited, '/v1/extract', { url: linkSamples.at(-1)?.url }),
      ask(key, `/v1/images/jobs/${made.json.id}`),
      // Another node may have made it a moment ago.
      ask(createKey().key, '/v1/models'),
    ]);
    for (const refusal of refusals) {
      expect([refusal.status, refusal.json.error.code]).to.deep.equal([503, 'upstream_unavailable']);
      expect(refusal.headers.get('retry-after')).to.equal('1');
    }

    await bringBack();
    await whenReadiness(200);
    const again = await submit('meanwhile');
    expect(again.status, again.text).to.equal(202);
    const { json: late } = await ask(key, `/v1/images/jobs/${again.json.id}?wait=60`);
    expect(late.status).to.equal('completed');
    // What was refused left nothing behind.
    expect(await nodes.state.jobs.latest('local', 100)).to.have.length(2);
    // One slot was taken before; the one that was refused took none.
    const counts = await Promise.all([1, 2, 3].map(() => ask(limited, '/v1/extract', { url: LINK })));
    expect(counts.map((answer) => answer.status).sort()).to.deep.equal([200, 200, 429]);
  });
});
