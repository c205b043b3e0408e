/** Links through a running gateway, and the first start. */

import { expect } from 'chai';
import { buildWatchPage } from '../../bench/watch-page.js';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { startGatewayProcess } from '../../support/processes/gateway-process.js';

const REFUSED: Readonly<Record<string, string>> = { private: 'private' };

describe('a link through a running gateway', () => {
  let proxy: ReplayingProxy;
  let gateway: GatewayHere;
  let key: string;

  before(async () => {
    proxy = await startReplayingProxy({ answer: answersFromSamples(linkSamples) });
    gateway = await startGatewayHere({ proxy });
    ({ key } = await gateway.makeKey());
  });

  beforeEach(() => proxy.setAnswer(answersFromSamples(linkSamples)));

  after(async () => {
    await gateway.kill();
    await proxy.close();
  });

  for (const { name, url, id, platform } of linkSamples) {
    const code = REFUSED[name];
    it(`${name}: ${code ? `422 ${code}` : 'a document'}`, async () => {
      const { status, json, headers } = await gateway.extract(key, { url });
      expect(status, JSON.stringify(json)).to.equal(code ? 422 : 200);
      expect(headers.get('x-request-id')).to.match(/^[A-Za-z0-9._-]{1,64}$/);
      expect(json).to.include({ ok: code === undefined, platform, input_url: url });
      if (code) {
        expect(json.error).to.include({ code, type: 'extraction_failed', retryable: false });
        expect(json.error.reason).to.be.a('string').that.is.not.empty;
        return;
      }
      expect(json.extraction_method).to.be.a('string').that.is.not.empty;
      const { product, reviews, ids, common, metrics, media } = json.data;
      if (product) {
        expect(product.product_id).to.equal(id);
        expect(product.name).to.be.a('string').that.is.not.empty;
        expect(product.price.amount).to.be.a('number');
        expect(reviews).to.include.keys('five_star', 'one_star');
      } else {
        expect([ids.video_id, ids.post_id, ids.shortcode]).to.include(id);
        expect(common.title).to.be.a('string').that.is.not.empty;
        expect(common.author.name).to.be.a('string').that.is.not.empty;
        expect(metrics.views ?? metrics.likes).to.be.a('number');
        expect(media).to.include.keys('image_urls', 'video_urls', 'download_links', 'audio_download_links');
      }
      expect(json.data.raw_stats).to.be.an('object');
      expect(json.limitations).to.be.an('array');
    });
  }

  it('answers another form of the same link from the cache, with the same document', async () => {
    const first = await gateway.extract(key, { url: linkSamples[0]?.url });
    proxy.setAnswer(() => ({ status: 500 }));
    const again = await gateway.extract(key, { url: `https://m.youtube.com/watch?t=1&v=${linkSamples[0]?.id}` });
    expect(again.status).to.equal(200);
    expect(again.json.data).to.deep.equal(first.json.data);
    expect(proxy.requests).to.deep.equal([]);
  });

  it('extracts a new link once for twenty simultaneous callers', async () => {
    const fresh = await startGatewayHere({ proxy });
    try {
      const made = await fresh.makeKey();
      const { id } = linkSamples[0] ?? { id: '' };
      const forms = [`https://youtu.be/${id}`, `https://www.youtube.com/watch?v=${id}&t=3`];
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => fresh.extract(made.key, { url: forms[index % forms.length] })),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(200));
      for (const { json } of answers) expect(json.data).to.deep.equal(answers[0]?.json.data);
      const asked = proxy.requests.map(({ method, url, body }) => `${method} ${url} ${body}`);
      expect(asked).to.have.length.greaterThan(0);
      expect(new Set(asked).size, 'different requests').to.equal(asked.length);
    } finally {
      await fresh.kill();
    }
  });

  it('extracts the same document by the command line without the server', async () => {
    const { url } = linkSamples[0] ?? { url: '' };
    const overHttp = await gateway.extract(key, { url });
    const { code, stdout, stderr } = await gateway.command('extract', url);
    expect(code, stderr).to.equal(0);
    const { common, ids, metrics } = overHttp.json.data;
    expect(JSON.parse(stdout).data).to.deep.include({ common, ids, metrics });
  });

  it('lists the platform in the capabilities only for a key with the grant', async () => {
    const told = await gateway.request('/v1/capabilities', { headers: { authorization: `Bearer ${key}` } });
    expect(told.status).to.equal(200);
    expect(told.json.platforms).to.include('vidsite');
    expect((await gateway.request('/v1/capabilities')).status).to.equal(401);
  });
});

describe('npm start on a new data folder', () => {
  it('prints a curl that works, and ends with 0', async () => {
    const proxy = await startReplayingProxy({
      answer: ({ url }) => {
        const id = url.pathname === '/watch' ? url.searchParams.get('v') : undefined;
        const headers = { 'content-type': 'text/html; charset=utf-8' };
        return id ? { headers, body: buildWatchPage(id) } : { status: 404 };
      },
    });
    const gateway = await startGatewayProcess({ proxy, firstRun: true });
    try {
      const printed = gateway.output();
      const key = /Authorization: Bearer (sk-mg-[\w-]+)/.exec(printed)?.[1] ?? '';
      expect(printed).to.include(`curl -s ${gateway.url}/v1/chat/completions`).and.to.include(gateway.dataFolder);
      const chat = JSON.parse(/-d '([^']+)'/.exec(printed)?.[1] ?? '');
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const chatted = await gateway.request('/v1/chat/completions', {
        method: 'POST',
        headers,
        body: JSON.stringify(chat),
      });
      expect(chatted.status, chatted.text).to.equal(200);
      const body = /\/v1\/extract +-d '([^']+)'/.exec(printed)?.[1] ?? '';
      const answer = await gateway.extract(key, JSON.parse(body));
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.json.data.common.title).to.equal('A generated film about harbours');
    } finally {
      expect(await gateway.stop()).to.equal(0);
      await proxy.close();
    }
  });
});
