/** Requests of link data in the usage. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const GONE = 'https://invented.example/item/404';

describeOnStacks('requests of link data in the usage', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;

  before(async () => {
    app = await startApp({
      stack,
      extractor: {
        async extract({ link }) {
          if (link.id === '404') throw new GatewayError('removed', 'It is gone.');
          return inventedExtraction(link.id);
        },
      },
      shop: { extract: async ({ link }) => inventedProduct(link.id) },
      jobs: { workers: 0 },
    });
    key = await app.makeKey({ rpm: 10 });
  });
  after(() => app.close());

  async function send(path: string, body: object): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return (await app.request(path, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  }

  it('are counted by key, platform and day, with cached, failed and batched ones', async () => {
    for (const url of [LINK, LINK]) expect(await send('/v1/extract', { url })).to.equal(200);
    expect(await send('/v1/extract', { url: GONE })).to.be.above(399);
    expect(await send('/v1/extract', { url: productLink(1), async_mode: true })).to.be.below(300);
    expect(await send('/v1/extract/batch', { urls: [LINK, GONE, 'not a link', productLink(2)] })).to.equal(200);
    // Neither a request that the rate limit refuses nor a link of no platform is admitted: they are counted apart.
    expect(await send('/v1/extract/batch', { urls: [LINK, LINK, LINK] })).to.equal(429);
    expect(await send('/v1/extract', { url: 'https://nobody.example/' })).to.equal(400);
    await app.state.usage.flushCounts();
    await app.state.usage.flushCounts();

    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    const counts = json.days.flatMap(({ models }: { models: Record<string, unknown>[] }) =>
      models.map(({ route, model, requests, failed }) => [route, model, requests, failed]),
    );
    expect(counts).to.have.deep.members([
      ['/v1/extract', '', 0, 0],
      ['/v1/extract', 'invented', 3, 1],
      ['/v1/extract', 'bazaar', 1, 0],
      ['/v1/extract/batch', '', 1, 1],
      ['/v1/extract/batch', 'invented', 2, 1],
      ['/v1/extract/batch', 'bazaar', 1, 0],
    ]);
    expect(json.total).to.include({ requests: 8, failed: 3, refused: 2, input_tokens: 0 });
  });

  once('are written without a request', async () => {
    const other = await app.makeKey();
    const headers = { authorization: `Bearer ${other}`, 'content-type': 'application/json' };
    await app.request('/v1/extract', { method: 'POST', headers, body: JSON.stringify({ url: LINK }) });
    const looks = async () => (await app.request('/v1/usage', { headers })).json.total.requests;
    for (const began = Date.now(); (await looks()) === 0 && Date.now() - began < 10_000; ) {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    expect(await looks()).to.equal(1);
  });
});
