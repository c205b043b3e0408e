/** What the usage log lists of the requests of a key: links, models, images, failures and refusals. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import type { RequestQuery } from '../../../server/usage/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const GONE = 'https://invented.example/item/404';

describeOnStacks('the request log', (stack) => {
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
  });
  after(() => app.close());
  beforeEach(async () => {
    key = await app.makeKey({ grants: ['extract', 'text', 'images'], rpm: 10 });
  });

  async function send(path: string, body: object | string, headers: Record<string, string> = {}): Promise<number> {
    const sent = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return (await app.request(path, { method: 'POST', headers: sent, body: text })).status;
  }

  const query = (): RequestQuery => ({ keyIds: [key.slice(6, 14)], accountId: 'local', from: 0, to: 1e14 });
  async function rows() {
    await app.state.admissions.flush();
    await app.state.usage.flushCounts();
    const listed = await app.state.requestLog.list(query(), 100);
    return listed.toReversed();
  }
  async function shown() {
    return (await rows()).map(({ route, model, status, errorCode, refused }) => {
      return [route, model, status, errorCode, refused];
    });
  }

  it('has a row for each link, also of a batch', async () => {
    expect(await send('/v1/extract', { url: LINK })).to.equal(200);
    expect(await send('/v1/extract', { url: GONE })).to.equal(422);
    expect(await send('/v1/extract/batch', { urls: [LINK, GONE, productLink(2)] })).to.equal(200);
    expect(await shown()).to.have.deep.members([
      ['/v1/extract', 'invented', 200, null, false],
      ['/v1/extract', 'invented', 422, 'removed', false],
      ['/v1/extract/batch', 'invented', 200, null, false],
      ['/v1/extract/batch', 'invented', 422, 'removed', false],
      ['/v1/extract/batch', 'bazaar', 200, null, false],
    ]);
  });

  once('has requests that were refused before any work, by their code', async () => {
    expect(await send('/v1/extract', { url: 'https://nobody.example/' })).to.equal(400);
    expect(await send('/v1/extract', '{')).to.equal(400);
    expect(await send('/v1/audio/speech', {})).to.equal(403);
    expect(await send('/v1/extract/batch', { urls: Array.from({ length: 11 }, () => LINK) })).to.equal(429);
    expect(await send('/v1/nothing', {})).to.equal(404);
    expect(await shown()).to.have.deep.members([
      ['/v1/extract', '', 400, 'unsupported_platform', true],
      ['/v1/extract', '', 400, 'invalid_json', true],
      ['/v1/audio/speech', '', 403, 'route_not_allowed', true],
      ['/v1/extract/batch', '', 429, 'rate_limit_exceeded', true],
    ]);
    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    expect(json.total).to.include({ requests: 0, failed: 0, refused: 4 });
  });

  once('has the request id that the client got, and no prompt, link or answer', async () => {
    expect(await send('/v1/extract', { url: `${LINK}?secret=zq` }, { 'x-request-id': 'my-own.id' })).to.equal(200);
    expect(await send('/v1/chat/completions', { model: 'none', messages: [{ role: 'user', content: 'zq' }] })).to.equal(
      404,
    );
    const listed = await rows();
    expect(listed.some(({ requestId }) => requestId.startsWith('my-own.id/'))).to.equal(true);
    expect(listed).to.have.length(2);
    expect(JSON.stringify(listed)).not.to.match(/zq|invented\.example/);
  });

  once('is written by itself within moments', async () => {
    await send('/v1/extract', { url: LINK });
    const listed = async () => (await app.state.requestLog.list(query(), 5)).length;
    await until(async () => (await listed()) === 1);
  });
});
