/** Background jobs of links of any platform, their webhooks, and their info dicts. */

import { expect } from 'chai';
import { GatewayError, type PostData } from 'mediagate';
import { Webhook } from 'standardwebhooks';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { richPost } from '../../support/links/invented-documents.js';
import { onceIt } from '../../support/runner/variants.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const item = (id: string) => `https://invented.example/item/${id}`;

describeOnStacks('background jobs of links', (stack) => {
  const once = onceIt(stack);
  let receiver: WebhookReceiver;
  let app: ListeningApp;
  let key: string;
  let fetches = 0;
  let isDown = true;

  before(async () => {
    receiver = await startWebhookReceiver();
    app = await startApp({
      stack,
      webhooks: { origin: receiver.origin },
      extractor: {
        async extract({ link }) {
          fetches += 1;
          if (link.id === '6' && isDown) throw new GatewayError('upstream_error', 'The source is down.');
          if (link.id === '8') throw new GatewayError('removed', 'The item was removed.');
          return richPost(link.id);
        },
      },
    });
    key = await app.makeKey();
  });
  after(async () => {
    await app?.close();
    await receiver?.close();
  });

  const get = (target: string) => app.request(target, { headers: { authorization: `Bearer ${key}` } });

  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what they find
  async function heard(name: string): Promise<any> {
    const [event] = await receiver.heard(name);
    const { secret } = (await get('/v1/webhooks/secret')).json;
    return new Webhook(secret).verify(event?.body ?? '', event?.headers ?? {});
  }

  it('defer a link of any platform, show its document and info dict, and send a signed webhook', async () => {
    const queued = await app.extract(key, { url: LINK, background: true, webhook_url: receiver.url('done') });
    expect([queued.status, queued.json.limitations]).to.deep.equal([200, []]);
    const { job, queue, ...data } = queued.json.data;
    expect(data).to.deep.equal({ common: null, ids: null, metrics: null, media: null });
    const done = await app.ended(key, job.job_id);
    expect(done.json.data.job).to.include({ status: 'completed', product_id: '7' });
    expect(done.json.data.common.title).to.equal((richPost('7').data as PostData).common.title);
    const event = await heard('done');
    expect(event).to.deep.equal({
      type: 'extraction.job.completed',
      timestamp: done.json.data.job.finished_at,
      data: { ...done.json, data: { ...done.json.data, media: event.data.data.media } },
    });
    const info = await get(`/v1/extract/jobs/${job.job_id}?format=yt-dlp`);
    expect(info.headers.get('content-type')).to.contain('application/vnd.yt-dlp.info+json');
    expect(JSON.parse(info.text)).to.include({ _type: 'video', webpage_url: LINK });

    // Cached now: the document itself, which nobody has to be told of.
    const cached = await app.extract(key, { url: LINK, background: true, webhook_url: receiver.url('never') });
    expect(cached.json.data).not.to.have.property('job');
    expect(cached.json.limitations).to.deep.equal(['webhook_url_ignored: the link was extracted at once']);
    const again = await app.extract(key, { url: LINK, background: true, force_async: true, async_mode: true });
    expect((await app.ended(key, again.json.data.job.job_id)).json.data.job.status).to.equal('completed');
    expect(fetches).to.equal(2);
    expect(receiver.of('never')).to.deep.equal([]);
  });

  it('tell the same address of the retry of a failed job', async () => {
    const admin = await app.makeKey({ grants: ['admin'] });
    const submitted = await app.extract(key, {
      url: item('6'),
      background: true,
      webhook_url: receiver.url('retried'),
    });
    const { job_id: id } = submitted.json.data.job;
    await app.ended(key, id);
    expect((await heard('retried')).type).to.equal('extraction.job.failed');
    isDown = false;
    const retry = await app.request(`/v1/admin/jobs/${id}/retry`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(retry.status, retry.text).to.equal(200);
    await app.ended(key, retry.json.id);
    const [, second] = await receiver.heard('retried', 2);
    const event = JSON.parse(String(second?.body));
    expect([event.type, event.data.data.job.job_id]).to.deep.equal(['extraction.job.completed', retry.json.id]);
  });

  once('ignore async_mode alone with a note, and tell of a failure', async () => {
    const direct = await app.extract(key, { url: item('9'), async_mode: true });
    expect(direct.json.limitations).to.deep.equal(['async_mode_ignored: the link was extracted at once']);
    const { json } = await app.extract(key, { url: item('8'), background: true, webhook_url: receiver.url('failed') });
    const failed = await heard('failed');
    expect(failed).to.deep.nested.include({ type: 'extraction.job.failed', 'data.error.code': 'removed' });
    expect(failed.data.data.job.job_id).to.equal(json.data.job.job_id);
  });

  once('with an address are not shared, and take public addresses alone', async () => {
    for (const background of ['yes', 1]) {
      const refused = await app.extract(key, { url: LINK, background });
      expect([refused.status, refused.json.error.param]).to.deep.equal([400, 'background']);
    }
    const body = { url: item('10'), background: true, webhook_url: 'http://127.0.0.1:1/x' };
    const refused = await app.extract(key, body);
    expect([refused.status, refused.json.error.param]).to.deep.equal([400, 'webhook_url']);
    const names = ['one', 'two'];
    const send = (name: string) => app.extract(key, { ...body, force_async: true, webhook_url: receiver.url(name) });
    const sent = await Promise.all(names.map(send));
    const ids = await Promise.all(names.map(async (name) => (await heard(name)).data.data.job.job_id));
    expect(ids).to.deep.equal(sent.map(({ json }) => json.data.job.job_id));
    expect(ids[0]).not.to.equal(ids[1]);
  });
});
