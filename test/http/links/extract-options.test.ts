/** Request options of links over HTTP. */

import { expect } from 'chai';
import type { RequestOptions } from 'mediagate';
import { Type } from 'mediagate/plugin';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

describe('request options over HTTP', () => {
  let app: ListeningApp;
  let key: string;
  let seen: RequestOptions[] = [];

  before(async () => {
    app = await startApp({
      extractor: {
        requestOptions: Type.Object({
          maxComments: Type.Integer({
            minimum: 0,
            maximum: 50,
            default: 20,
            title: 'a whole number from 0 to 50',
            description: 'Most comments.',
          }),
          // The gateway's own field of this name stays what it is.
          asyncMode: Type.String({ default: 'never' }),
        }),
        extract: async ({ link, options }) => {
          seen.push(options);
          return inventedExtraction(link.id);
        },
      },
      shop: {
        extract: async ({ link, options }) => {
          seen.push(options);
          return inventedProduct(link.id);
        },
      },
    });
    key = await app.makeKey();
  });
  beforeEach(() => {
    seen = [];
  });
  after(() => app.close());

  it('have snake_case names beside those of the service document', async () => {
    await app.extract(key, { url: LINK, max_comments: 5, maxComments: 6, other: 7 });
    await app.extract(key, { url: productLink(1), clip_review_limit: 3, clip_sort: 'recommended' });
    expect(seen).to.deep.equal([
      { maxComments: 5, asyncMode: 'never' },
      { clipReviewLimit: 3, clipSort: 'recommended', includeEmptyReviews: false },
    ]);
  });

  it('are refused by name with an invalid value, for every link', async () => {
    for (const url of [LINK, productLink(2)]) {
      const { status, json } = await app.extract(key, { url, max_comments: 51 });
      expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', 'max_comments']);
      expect(json.error.message).to.equal('max_comments must be a whole number from 0 to 50.');
    }
    expect((await app.extract(key, { url: LINK, async_mode: 'never' })).status).to.equal(400);
    expect(seen).to.deep.equal([]);
  });

  it('have no effect on other platforms, as the answer states', async () => {
    const product = await app.extract(key, { url: productLink(3), max_comments: 5 });
    expect(product.json.limitations).to.deep.equal(['max_comments_ignored: the platform has no such option']);
    const item = await app.extract(key, { url: `${LINK}7`, clip_sort: 'latest' });
    expect(item.json.limitations).to.deep.equal(['review_options_ignored: only shop links have reviews']);
    const { json } = await app.batch(key, { urls: [`${LINK}8`, productLink(4)], clip_sort: 'latest', max_comments: 1 });
    expect(json.items.map(({ result }: { result: { limitations: string[] } }) => result.limitations)).to.deep.equal([
      ['review_options_ignored: only shop links have reviews'],
      ['max_comments_ignored: the platform has no such option'],
    ]);
  });

  it('are in the API reference', () => {
    const route = app.declaredRoutes().find(({ path }) => path === '/v1/extract');
    const { properties } = JSON.parse(JSON.stringify(route?.body?.schema));
    expect(properties.max_comments).to.deep.include({ type: 'integer', minimum: 0, maximum: 50 });
    expect(properties).to.include.keys('clip_review_limit', 'clip_sort', 'include_empty_reviews', 'async_mode');
    expect(properties.async_mode).to.deep.include({ type: 'boolean' });
  });
});

describe('request options of one name and two schemas over HTTP', () => {
  let app: ListeningApp;
  let key: string;

  before(async () => {
    app = await startApp({
      extractor: { requestOptions: Type.Object({ maxComments: Type.Optional(Type.Integer({ maximum: 50 })) }) },
      shop: { requestOptions: Type.Object({ maxComments: Type.Optional(Type.Literal('all')) }) },
    });
    key = await app.makeKey();
  });
  after(() => app.close());

  it('are refused by name if the value fits another platform alone', async () => {
    const { status, json } = await app.extract(key, { url: LINK, max_comments: 'all' });
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', 'max_comments']);
    expect(json.error.message).to.include('max_comments').and.not.include('maxComments');
    const batch = await app.batch(key, { urls: [LINK, productLink(1)], max_comments: 'all' });
    const [item, product] = batch.json.items;
    expect([item.error.code, item.error.param]).to.deep.equal(['invalid_value', 'max_comments']);
    expect(item.error.message).to.include('max_comments').and.not.include('maxComments');
    expect(product.result.ok).to.equal(true);
  });

  it('do not give a platform reviews because it works in the background', async () => {
    const { json } = await app.request('/v1/capabilities', { headers: { 'x-api-key': key } });
    const shop = json.details.find((one: { key: string }) => one.key === 'bazaar');
    expect(shop.features).to.deep.include({ async: true, reviews: false });
  });
});
