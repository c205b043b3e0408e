/** Short links of the shop plugin. */

import { expect } from 'chai';
import { type GatewayError, matchedLink } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, type FakeReply, setUpPlugin } from 'mediagate/testing';
import clipShop from '../index.js';

const { signal } = new AbortController();
const LINK = 'https://vt.tokopedia.com/t/ZSinvented/';
const ID = '1729400000000011111';

async function walk(...stops: readonly (string | FakeReply)[]) {
  const replies = stops.map(
    (stop): FakeReply => (typeof stop === 'string' ? { status: 302, headers: { location: stop } } : stop),
  );
  const http = createFakeHttp(replies);
  const extractor = extractorOf(await setUpPlugin({ plugin: clipShop, http }));
  const link = matchedLink(extractor.match(new URL(LINK)));
  if (!link || !extractor.resolve) throw new Error('short links do not match');
  const end = await extractor.resolve({ link, signal }).then(
    (url) => matchedLink(extractor.match(url)),
    (error: GatewayError) => error.code,
  );
  return { end, asked: http.requests.map(({ url }) => String(url)) };
}

describe('clip_shop short links', () => {
  const product = { kind: 'product', id: ID, url: `https://shop.tiktok.com/id/pdp/${ID}`, region: 'ID' };

  it('end at a product of the Indonesian market without a request', async () => {
    for (const target of [
      `https://shop-id.tokopedia.com/pdp/a-pot/${ID}?_svg=1`,
      `https://shop-id.tokopedia.com/view/product/${ID}`,
      `https://www.tiktok.com/view/product/${ID}?region=ID`,
    ]) {
      expect(await walk(target), target).to.deep.equal({ end: product, asked: [LINK] });
    }
  });

  it('are dead if the platform reports so', async () => {
    expect((await walk({ status: 404 })).end).to.equal('short_link_dead');
    expect((await walk('https://shop-id.tokopedia.com/')).end).to.equal('short_link_dead');
  });

  it('never leave the shop', async () => {
    for (const target of ['https://evil.example/pdp/x', 'http://169.254.169.254/', 'https://www.tokopedia.com/x/y']) {
      expect(await walk(target), target).to.deep.equal({ end: 'redirected_to_unsupported', asked: [LINK] });
    }
  });
});
