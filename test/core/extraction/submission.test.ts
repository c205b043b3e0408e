/** Submissions to a gateway without a store of jobs. */

import { expect } from 'chai';
import { createGateway, GatewayError } from 'mediagate';
import { invented } from '../../support/links/invented-plugin.js';
import { inventedShop, productLink } from '../../support/links/invented-shop.js';

const ITEM = 'https://invented.example/item/7';

describe('a gateway without a store of jobs', () => {
  const open = () => createGateway({ plugins: [{ use: invented() }, { use: inventedShop() }] });

  it('offers no background work, and extracts background requests at once', async () => {
    await using gateway = await open();
    expect(gateway.platforms().map(({ features }) => [features.async, features.batch])).to.deep.equal([
      [false, true],
      [false, true],
    ]);
    expect(gateway.maxActiveJobs).to.equal(null);
    const submission = await gateway.submitExtraction({ url: productLink(1), owner: 'a', refresh: true });
    expect('result' in submission && submission.result.link.id).to.equal('1');
    const refusal = await gateway.extractionJob(`exjob_${'0'.repeat(32)}`, 'a').catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(GatewayError).and.to.include({ code: 'job_not_found' });
  });

  it('extracts every link of a batch', async () => {
    await using gateway = await open();
    const urls = [productLink(1), ITEM, 'nonsense'];
    const items = await gateway.extractBatch({ urls, owner: 'a' });
    const outcomes = items.map((item) => {
      if ('result' in item) return item.result.link.id;
      return 'error' in item ? item.error.code : 'job';
    });
    expect(outcomes).to.deep.equal(['1', '7', 'invalid_url']);
  });

  it('rejects a batch with the reason of its signal', async () => {
    await using gateway = await open();
    const reason = new Error('left');
    const left = await gateway
      .extractBatch({ urls: [ITEM], owner: 'a', signal: AbortSignal.abort(reason) })
      .catch((error: unknown) => error);
    expect(left).to.equal(reason);
  });
});
