/** Clips and live channels of the video site that lead to a video. */

import { expect } from 'chai';
import { type GatewayError, matchedLink } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, type FakeReply, setUpPlugin } from 'mediagate/testing';
import vidsite from '../index.js';

const { signal } = new AbortController();
const LIVE = 'https://www.youtube.com/@HarbourNotes/live';
const CLIP = 'https://www.youtube.com/clip/UgkxInvented_0-1';
const WATCH = 'https://www.youtube.com/watch?v=L1veNest_26';

async function resolve(address: string, ...replies: readonly FakeReply[]) {
  const http = createFakeHttp(replies);
  const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, http }));
  const link = matchedLink(extractor.match(new URL(address)));
  if (!link || !extractor.resolve) throw new Error(`${address} does not match`);
  const end = await extractor.resolve({ link, signal }).then(
    ({ href }) => href,
    (error: GatewayError) => error.code,
  );
  return { end, link, asked: http.requests.map(({ url }) => String(url)) };
}

const page = (head: string, data?: unknown): FakeReply => ({
  body: `<html><head>${head}</head><body>${data ? `<script>var ytInitialData = ${JSON.stringify(data)};</script>` : ''}</body></html>`,
});
const canonical = (address: string) => `<link rel="canonical" href="${address}">`;
const playing = (videoId: string) => ({ currentVideoEndpoint: { watchEndpoint: { videoId } } });

describe('vidsite: clips and channels that are live', () => {
  it('lead to the video that the page names', async () => {
    expect(await resolve(LIVE, page(canonical(WATCH)))).to.deep.include({
      end: WATCH,
      asked: [LIVE],
      link: { kind: 'short_link', id: '@HarbourNotes', url: LIVE, moves: true },
    });
  });

  it('cost one request for every form of a channel link', async () => {
    const id = 'UCharbourNotes0000000001';
    const address = `https://www.youtube-nocookie.com/embed/live_stream?channel=${id}`;
    const { end, asked } = await resolve(address, page(canonical(WATCH)));
    expect([end, ...asked]).to.deep.equal([WATCH, `https://www.youtube.com/channel/${id}/live`]);
  });

  it('lead to the playing video if the page names itself', async () => {
    const { end, link } = await resolve(CLIP, page(canonical(CLIP), playing('Tugs0fOst3n')));
    expect(end).to.equal('https://www.youtube.com/watch?v=Tugs0fOst3n');
    expect(link).not.to.have.property('moves');
  });

  it('follow a redirect within the site', async () => {
    const moved: FakeReply = { status: 302, headers: { location: '/channel/UCharbourNotes0000000001/live' } };
    expect((await resolve(LIVE, moved, page(canonical(WATCH)))).end).to.equal(WATCH);
    const to: FakeReply = { status: 303, headers: { location: `${WATCH}&x=1` } };
    expect(await resolve(LIVE, to)).to.deep.include({ end: WATCH, asked: [LIVE] });
  });

  it('explain why they lead to no video', async () => {
    const channel = canonical('https://www.youtube.com/channel/UCharbourNotes0000000001');
    expect((await resolve(LIVE, page(channel, { header: {} }))).end).to.equal('redirected_to_unsupported');
    expect((await resolve(LIVE, page('', { header: {} }))).end).to.equal('redirected_to_unsupported');
    expect((await resolve(LIVE, { status: 404 })).end).to.equal('short_link_dead');
    expect((await resolve(CLIP, { status: 429 })).end).to.equal('upstream_rate_limited');
    expect((await resolve(CLIP, page('<title>Sorry</title>'))).end).to.equal('upstream_refused');
    expect((await resolve(CLIP, page('<div class="g-recaptcha"></div>'))).end).to.equal('bot_check');
  });

  it('follow no redirect off the site', async () => {
    for (const [location, code] of Object.entries({
      'https://evil.example/watch?v=L1veNest_26': 'redirected_to_unsupported',
      'http://169.254.169.254/latest/': 'redirected_to_unsupported',
      'https://consent.youtube.com/m?continue=x': 'upstream_refused',
      'https://www.google.com/sorry/index?continue=x': 'bot_check',
    })) {
      const { end, asked } = await resolve(LIVE, { status: 302, headers: { location } });
      expect([end, ...asked], location).to.deep.equal([code, LIVE]);
    }
    // A video of the page's own list is not the one that plays.
    const other = page(canonical('https://evil.example/watch?v=L1veNest_26'), { contents: { videoId: 'Tugs0fOst3n' } });
    expect((await resolve(LIVE, other)).end).to.equal('redirected_to_unsupported');
  });
});
