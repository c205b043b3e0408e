/** Short links of the short-video plugin. */

import { expect } from 'chai';
import { type GatewayError, matchedLink } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, type FakeReply, setUpPlugin } from 'mediagate/testing';
import clipVideo from '../index.js';

const { signal } = new AbortController();

/** What the short link resolves to where each address in turn answers with a redirect to the next. */
async function walk(...stops: readonly (string | FakeReply)[]) {
  const replies = stops.map(
    (stop): FakeReply => (typeof stop === 'string' ? { status: 301, headers: { location: stop } } : stop),
  );
  const http = createFakeHttp(replies);
  const extractor = extractorOf(await setUpPlugin({ plugin: clipVideo, http }));
  const link = matchedLink(extractor.match(new URL('https://vm.tiktok.com/ZSfInv3nt/')));
  if (!link || !extractor.resolve) throw new Error('short links do not match');
  let wait: number | undefined;
  const end = await extractor.resolve({ link, signal }).then(
    ({ href }) => href,
    (error: GatewayError) => {
      wait = error.retryAfterSeconds;
      return error.code;
    },
  );
  return { end, wait, asked: http.requests.map(({ url }) => String(url)) };
}

describe('clip_video short links', () => {
  it('end at an item without a request', async () => {
    const { end, asked } = await walk('https://www.tiktok.com/@a/video/7670000000000000001?_r=1');
    expect(end).to.equal('https://www.tiktok.com/@a/video/7670000000000000001?_r=1');
    expect(asked).to.deep.equal(['https://vm.tiktok.com/ZSfInv3nt/']);
  });

  it('end at an item whose author the redirect omits', async () => {
    for (const path of ['@/video', '@/photo', 'video']) {
      const { end } = await walk(`https://www.tiktok.com/${path}/7670000000000000001?_r=1`);
      expect(end, path).to.match(/^https:\/\/www\.tiktok\.com\/@i?\/(?:video|photo)\/7670000000000000001(?:\?_r=1)?$/);
    }
  });

  for (const product of [
    'https://www.tiktok.com/view/product/1729384756102938475?region=US',
    'https://shop.tiktok.com/us/pdp/brass-porthole/1729384756102938475',
    'https://www.tiktok.com/shop/pdp/1729384756102938475',
  ]) {
    it(`end at the product ${new URL(product).pathname}`, async () => {
      expect((await walk('https://vt.tiktok.com/ZSfInv3nt/', product)).end).to.equal(product);
    });
  }

  it('end at other pages, which are refused', async () => {
    expect((await walk('https://www.tiktok.com/@harbour.notes?_r=1')).end).to.equal(
      'https://www.tiktok.com/@harbour.notes?_r=1',
    );
    expect((await walk('https://www.tiktok.com/music/Salt-7000000000000000001')).end).to.contain('/music/');
  });

  it('are dead if they lead to the home page or to a notice', async () => {
    expect((await walk('https://www.tiktok.com/?_r=1')).end).to.equal('short_link_dead');
    expect((await walk('https://www.tiktok.com/hk/notfound')).end).to.equal('short_link_dead');
    expect((await walk({ status: 404 })).end).to.equal('short_link_dead');
  });

  it('read the item from a login page, or report that it requires one', async () => {
    const item = 'https://www.tiktok.com/@a/video/7670000000000000001';
    const login = 'https://www.tiktok.com/login?redirect_url=';
    expect((await walk(login + encodeURIComponent(item))).end).to.equal(item);
    expect((await walk(login)).end).to.equal('login_required');
    expect((await walk(`${login}https%3A%2F%2Fevil.example%2F`)).end).to.equal('login_required');
  });

  it('never leave the platform', async () => {
    for (const target of [
      'http://169.254.169.254/latest/',
      'https://evil.example/@a/video/7670000000000000001',
      'file:///etc/passwd',
    ]) {
      const { end, asked } = await walk(target);
      expect(end).to.equal('redirected_to_unsupported');
      expect(asked).to.have.length(1);
    }
  });

  it('report a refused resolution', async () => {
    expect((await walk({ status: 200, body: '<html>Please wait...</html>' })).end).to.equal('upstream_refused');
    expect((await walk({ status: 429 })).end).to.equal('upstream_rate_limited');
  });

  it('report the wait of a refusal in seconds or as a date', async () => {
    const waits = async (text: string) => (await walk({ status: 429, headers: { 'retry-after': text } })).wait;
    expect(await waits('30')).to.equal(30);
    expect(await waits(new Date(Date.now() + 50_000).toUTCString())).to.be.within(30, 50);
    expect(await waits(new Date(Date.now() + 3_600_000).toUTCString())).to.equal(60);
    expect(await waits('251606812563')).to.equal(60);
    expect(await waits('-5')).to.equal(1);
    expect(await waits('soon')).to.equal(undefined);
  });
});
