/** Bytes of media links in the usage and in budgets of money: charged once, for what was sent. */

import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { JPEG, type MediaItem, startMediaOrigin, videoOf } from './media-origin.js';

const GATEWAY = 'http://gateway.example';
/** Millionths of the currency for a byte. */
const PER_BYTE = 1;
const VIDEO: MediaItem['entries'] = [{ kind: 'video' }];

describe('bytes of media links', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let count = 0;

  before(async () => {
    origin = await startMediaOrigin();
    app = await startApp({
      extractor: origin.extractor,
      mediaProxy: 'on',
      prices: createPrices({ currency: 'USD', gigabyte: PER_BYTE * 1_000 }),
      gateway: {
        mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)] },
        services: { http: origin.http },
      },
    });
  });

  after(async () => {
    await app.close();
    await origin.close();
  });

  /** A key with a budget of money. */
  async function keyWith(money: string) {
    const budget = parseBudget(money);
    if (!budget) throw new Error('no budget');
    count += 1;
    const groupName = `team${count}`;
    const made = await app.state.budgets.createGroup(groupName, { budgets: [budget], actor: 'operator:ann' });
    const key = await app.makeKey({}, { furtherBudgets: made.map(({ id }) => id), groupName });
    const headers = { authorization: `Bearer ${key}` };
    return {
      key,
      async usage() {
        await app.state.usage.flushCounts();
        await app.state.admissions.flush();
        const { json } = await app.request('/v1/usage', { headers });
        const { bytes, cost } = json.total;
        const [{ used, reserved }] = json.budgets;
        return { bytes, cost, used, reserved };
      },
    };
  }

  async function linksOf(key: string, item: MediaItem) {
    const url = `https://invented.example/item/${origin.put(item)}`;
    const { json } = await app.extract(key, { url, include_media_links: true });
    const { entries, download_links: links } = json.data.media;
    return [...entries.map(({ proxy_url: link }: { proxy_url: string }) => link), links.archive] as string[];
  }

  const ask = (link = '', range?: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = range === undefined ? {} : { range };
      get(app.url + link.replace(GATEWAY, ''), { headers }, resolve).once('error', reject);
    });

  async function load(...request: Parameters<typeof ask>) {
    const response = await ask(...request);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, body: Buffer.concat(chunks) };
  }

  it('are counted and charged, and refused before they are sent if there is no money for them', async () => {
    const { key, usage } = await keyWith('1 USD/month');
    const [link] = await linksOf(key, { entries: VIDEO, content: [videoOf(600_000)] });
    expect((await load(link)).status).to.equal(200);
    expect(await usage()).to.deep.equal({ bytes: 600_000, cost: 0.6, used: 0.6, reserved: 0 });
    const { status, body } = await load(link);
    expect([status, JSON.parse(body.toString()).error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect((await load(link, 'bytes=0-99999')).status).to.equal(206);
    expect((await load(link, 'bytes=700000-')).status).to.equal(416);
    expect(await usage()).to.deep.equal({ bytes: 700_000, cost: 0.7, used: 0.7, reserved: 0 });
  });

  it('are charged as far as they were sent, if the client leaves', async () => {
    const { key, usage } = await keyWith('100 USD/month');
    const [link] = await linksOf(key, { entries: VIDEO, content: [videoOf(60_000_000)] });
    const response = await ask(link);
    await new Promise((resolve) => response.once('data', resolve));
    response.destroy();
    await until(async () => (await usage()).bytes > 0);
    const { bytes, cost, used, reserved } = await usage();
    expect(bytes).to.be.within(1, 59_999_999);
    expect([cost, used, reserved]).to.deep.equal([bytes / 1_000_000, bytes / 1_000_000, 0]);
  });

  it('of archives and subtitles are counted as well', async () => {
    const { key, usage } = await keyWith('100 USD/month');
    const entries: MediaItem['entries'] = [{ kind: 'image' }, { kind: 'image' }];
    const links = await linksOf(key, { entries, content: [JPEG, JPEG], extraction: { carousel: true } });
    const { body } = await load(links[2]);
    const cost = body.length / 1_000_000;
    expect(await usage()).to.deep.equal({ bytes: body.length, cost, used: cost, reserved: 0 });
    const [raw = ''] = await linksOf(key, { entries: [{ kind: 'subtitle' }], content: [Buffer.from('WEBVTT\n')] });
    const text = await load(`${raw.replace('/media/', '/extract/subtitles/')}.vtt`);
    expect((await usage()).bytes).to.equal(body.length + text.body.length);
  });
});
