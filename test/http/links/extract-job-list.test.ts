/** The list of extraction jobs, and the parameters of one. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

describeOnStacks('the list of extraction jobs', (stack) => {
  let app: ListeningApp;
  let key: string;

  before(async () => {
    app = await startApp({
      stack,
      shop: {
        extract: async ({ link }) => {
          if (link.id === '2') throw new Error('broken');
          return inventedProduct(link.id);
        },
      },
    });
    key = await app.makeKey();
  });
  after(() => app.close());

  const get = (target: string, secret = key) => app.request(target, { headers: { authorization: `Bearer ${secret}` } });

  it('shows the jobs of an account newest first, in pages and by state, and a job as it was asked for', async () => {
    const ids: string[] = [];
    for (const product of [1, 2, 3]) {
      const { json } = await app.extract(key, { url: productLink(product), async_mode: true });
      ids.unshift(json.data.job.job_id);
      await app.ended(key, json.data.job.job_id);
    }
    const { status, json } = await get('/v1/extract/jobs');
    expect([status, json.object, json.has_more, json.first_id]).to.deep.equal([200, 'list', false, ids[0]]);
    expect(json.data.map((job: { job_id: string }) => job.job_id)).to.deep.equal(ids);
    const polled = (await get(`/v1/extract/jobs/${ids[2]}`)).json;
    expect(json.data[2]).to.deep.equal({ ...polled.data.job, platform: 'bazaar', url: productLink(1) });
    expect(json.data[1]).to.deep.nested.include({ status: 'failed', 'error.code': 'upstream_changed' });

    const first = await get('/v1/extract/jobs?limit=2');
    expect([first.json.data.length, first.json.has_more, first.json.last_id]).to.deep.equal([2, true, ids[1]]);
    const second = await get(`/v1/extract/jobs?limit=2&after=${ids[1]}`);
    expect([second.json.data[0].job_id, second.json.has_more]).to.deep.equal([ids[2], false]);
    expect((await get('/v1/extract/jobs?status=failed')).json.data[0].job_id).to.equal(ids[1]);

    const stranger = await app.makeKey({}, { accountId: 'somebody-else' });
    expect((await get('/v1/extract/jobs', stranger)).json.data).to.deep.equal([]);
    for (const [query, param, secret] of [
      ['?limit=0', 'limit'],
      ['?status=generating', 'status'],
      ['?after=exjob_none', 'after'],
      [`?after=${ids[0]}`, 'after', stranger],
      [`/${ids[0]}?include_media_links=1`, 'include_media_links'],
      [`/${ids[0]}?include_media_links=true&include_media_links=false`, 'include_media_links'],
      [`/${ids[0]}?format=xml`, 'format'],
    ] as const) {
      const refused = await get(`/v1/extract/jobs${query}`, secret);
      const expected = param === 'after' ? [404, 'job_not_found'] : [400, 'invalid_value'];
      expect([refused.status, refused.json.error.code, refused.json.error.param], query).to.deep.equal([
        ...expected,
        param,
      ]);
    }
    const ofProduct = await get(`/v1/extract/jobs/${ids[2]}?format=yt-dlp`);
    expect([ofProduct.status, ofProduct.json.error.code]).to.deep.equal([400, 'unsupported_value']);
    const failed = await get(`/v1/extract/jobs/${ids[1]}?format=yt-dlp&include_media_links=false`);
    expect([failed.status, failed.json.ok]).to.deep.equal([200, false]);
  });
});
