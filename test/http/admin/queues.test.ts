/** Pausing a kind of jobs: none is started until it is resumed, and both are audited. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { productLink } from '../../support/links/invented-shop.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

describeOnStacks('the queues of background jobs', (stack) => {
  let app: ListeningApp;
  let admin: string;
  let key: string;

  before(async () => {
    app = await startApp({ stack, shop: {} });
    admin = await app.makeKey({ grants: ['admin'] });
    key = await app.makeKey({ grants: ['extract'] });
  });
  after(() => app?.close());

  async function send(method: string, path: string) {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' };
    const answer = await app.request(`/v1/admin${path}`, {
      method,
      headers,
      ...(method === 'POST' && { body: '{"note":"vendor is down"}' }),
    });
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  }

  const queue = async (kind: string) =>
    (await send('GET', '/queues')).data.find((one: { kind: string }) => one.kind === kind);

  it('start no job of a paused kind, in any process, until it is resumed', async () => {
    expect(await send('POST', '/queues/extraction/pause')).to.deep.equal({
      kind: 'extraction',
      paused: true,
      changed: true,
    });
    expect((await send('POST', '/queues/extraction/pause')).changed).to.equal(false);
    const { json, text } = await app.extract(key, { url: productLink(1), async_mode: true });
    const id = json.data.job?.job_id;
    expect(id, text).to.be.a('string');
    await sleep(1_500);
    expect(await queue('extraction')).to.deep.include({ queued: 1, running: 0 });
    expect((await queue('extraction')).paused_at).to.be.a('string');
    expect((await queue('image')).paused_at).to.equal(null);
    const { data } = await send('GET', '/jobs?kind=extraction');
    expect(data[0]).to.include({ id, state: 'queued', runs: 0 });
    expect((await send('POST', '/queues/extraction/resume')).changed).to.equal(true);
    await until(async () => (await queue('extraction')).completed === 1);
    const audit = await send('GET', '/audit?subject=jobs%3Aextraction');
    expect(audit.data.map(({ action, note }: { action: string; note: string }) => [action, note])).to.deep.equal([
      ['jobs.resumed', 'vendor is down'],
      ['jobs.paused', 'vendor is down'],
    ]);
  });

  it('have names, of which the closest is suggested', async () => {
    const headers = { authorization: `Bearer ${admin}` };
    const { status, json } = await app.request('/v1/admin/queues/images/pause', { method: 'POST', headers });
    expect([status, json.error.param]).to.deep.equal([400, 'kind']);
    expect(json.error.message).to.contain('Did you mean "image"?');
  });
});
