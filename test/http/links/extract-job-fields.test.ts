/** What the request of a background job asked for is in its polls and its webhook, unless a poll asks otherwise. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { describeOnFirstStack } from '../../support/databases/stacks.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { richPost } from '../../support/links/invented-documents.js';
import { onceIt } from '../../support/runner/variants.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const links = { baseUrl: 'http://gateway.example', secrets: [randomBytes(32)] };

describeOnFirstStack('fields of background jobs', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let receiver: WebhookReceiver;
  let count = 0;

  before(async () => {
    receiver = await startWebhookReceiver();
    app = await startApp({
      stack,
      webhooks: { origin: receiver.origin },
      mediaProxy: 'on',
      extractor: { audio: true, extract: async ({ link }) => ({ ...richPost(link.id), audio: true }) },
      gateway: { audioLinks: links, mediaLinks: links },
    });
    key = await app.makeKey();
  });
  after(async () => {
    await app?.close();
    await receiver?.close();
  });

  async function submit(fields: object): Promise<string> {
    count += 1;
    const url = `https://invented.example/item/${count}`;
    const { json } = await app.extract(key, { url, background: true, ...fields });
    await app.ended(key, json.data.job.job_id);
    return json.data.job.status_url;
  }

  async function poll(target: string, query = '') {
    const { json } = await app.request(`${target}${query}`, { headers: { authorization: `Bearer ${key}` } });
    const { download_links: files, entries } = json.data.media;
    return { hasMp3: files.mp3 !== null, hasLinks: entries.some((entry: object) => 'proxy_url' in entry), json };
  }

  once('are the defaults of polls', async () => {
    const plain = await submit({});
    expect(await poll(plain)).to.include({ hasMp3: true, hasLinks: false });
    const chosen = await submit({ include_audio_mp3: false, include_media_links: true });
    expect(await poll(chosen)).to.include({ hasMp3: false, hasLinks: true });
    const changed = await poll(chosen, '?include_audio_mp3=true&include_media_links=false');
    expect(changed).to.include({ hasMp3: true, hasLinks: false });
    expect((await poll(plain, '?include_audio_mp3=false')).hasMp3).to.equal(false);
  });

  it('are those of the webhook, which has no media links', async () => {
    await submit({ include_audio_mp3: false, include_media_links: true, webhook_url: receiver.url('job') });
    const [event] = await receiver.heard('job');
    const { media } = JSON.parse(event?.body ?? '').data.data;
    expect([media.download_links.mp3, media.entries.some((entry: object) => 'proxy_url' in entry)]).to.deep.equal([
      null,
      false,
    ]);
  });

  once('are refused in a poll with other values than true and false', async () => {
    const target = await submit({});
    for (const name of ['include_audio_mp3', 'include_media_links', 'include_transcript']) {
      const { status, json } = await app.request(`${target}?${name}=1`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect([status, json.error.param]).to.deep.equal([400, name]);
    }
  });
});
