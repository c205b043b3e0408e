/** What the social plugin reads from links, pages, media addresses and texts. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { hashtagsIn, matchedLink, mergePosts } from 'mediagate/plugin';
import {
  createFakeHttp,
  createReplay,
  extractorOf,
  type FakeReply,
  pluginFolder,
  readFixture,
  setUpPlugin,
} from 'mediagate/testing';
import social from '../index.js';
import { matchItem } from '../links.js';
import { manifestFiles, readAddress } from '../read/media.js';
import { readPage } from '../read/page.js';
import siteConfig from '../site-config.json' with { type: 'json' };

const SITE = 'https://www.facebook.com';
const fixture = (name: string) => path.join(pluginFolder(import.meta.url), 'fixtures', name);
const signal = new AbortController().signal;

function read(name: string, address: string) {
  const link = matchedLink(matchItem(new URL(address)));
  if (!link) throw new Error(`${address} does not match`);
  const html = readFileSync(fixture(name), 'utf8');
  return readPage({ status: 200, url: new URL(link.url), html }, link, siteConfig);
}

describe('social links', () => {
  const canonical = (address: string) => matchedLink(matchItem(new URL(address)))?.url;

  it('have one form for every host and wrapper', () => {
    const post = `${SITE}/100009000000731/posts/4410000000000731`;
    expect(canonical('https://m.facebook.com/story.php?story_fbid=4410000000000731&id=100009000000731')).to.equal(post);
    expect(canonical(`${SITE}/permalink.php?story_fbid=4410000000000731&id=100009000000731&__tn__=x`)).to.equal(post);
    expect(canonical(`${SITE}/someone/videos/a-slug/1250000000000338/`)).to.equal(`${SITE}/watch/?v=1250000000000338`);
    expect(canonical(`${SITE}/someone/photos/a.1/5610000000000582`)).to.equal(`${SITE}/photo/?fbid=5610000000000582`);
    expect(canonical(`${SITE}/100009000000731_4410000000000731`)).to.equal(post);
    expect(canonical(`https://fr.facebook.com/100009000000731/posts/4410000000000731`)).to.equal(post);
    expect(canonical(`${SITE}/photo.php?v=1250000000000338`)).to.equal(`${SITE}/watch/?v=1250000000000338`);
    expect(canonical('https://www.fb.watch/v/a1B2c3D4e5/')).to.equal('https://fb.watch/v/a1B2c3D4e5/');
    expect(canonical(`${SITE}/sharer/sharer.php?u=${encodeURIComponent(post)}`)).to.equal(post);
  });

  it('are refused by the name of their kind', () => {
    const refusal = (address: string) => matchItem(new URL(address));
    expect(refusal(`${SITE}/bellfoundry`)).to.deep.equal({ unsupported: 'a profile' });
    expect(refusal(`${SITE}/events/7020000000000256`)).to.deep.equal({ unsupported: 'an event' });
    expect(refusal(`${SITE}/media/set/?set=a.1`)).to.deep.equal({ unsupported: 'an album' });
    expect(refusal(`${SITE}/constructor`)).to.deep.equal({ unsupported: 'a profile' });
    expect(refusal(`${SITE}/bellfoundry/photos`)).to.deep.equal({ unsupported: 'a list of a profile' });
  });
});

describe('social pages', () => {
  it('ignore a page that is about another item', () => {
    const outcome = read('post-2025/post.html', `${SITE}/someone/posts/4410000000000999`);
    expect(outcome).to.include({ kind: 'transient', code: 'upstream_refused' });
  });

  it('give a post that shares another only its own numbers', () => {
    const outcome = read('group-2022/group.html', `${SITE}/groups/loom.repairs/permalink/7020000000000256/`);
    expect(JSON.stringify(outcome)).to.contain('shuttle').and.not.contain('98765').and.not.contain('5566');
  });

  it('exclude comments from the numbers of their post', () => {
    const outcome = read('post-2025/post.html', `${SITE}/someone/posts/4410000000000731`);
    expect(JSON.stringify(outcome)).to.contain('1904').and.not.contain('4021').and.not.contain('lovely glaze');
  });

  it('find a post under another alias than the link has', () => {
    const alias = (letter: string) => `pfbid0${letter.repeat(20)}`;
    const id = '4410000000000812';
    const story = Buffer.from(`S:_I100009000000812:${id}:${id}`).toString('base64');
    const feedback = Buffer.from(`feedback:${id}`).toString('base64');
    const url = `${SITE}/someone/posts/${alias('b')}`;
    const node = { __typename: 'Story', id: story, post_id: id, url, message: { text: 'Under two names' } };
    const counters = { id: feedback, reaction_count: { count: 2718 } };
    const actors = [{ id: '100009000000812', name: 'Some One' }];
    const data = { node: { ...node, actors, feedback: counters, creation_time: 1771412345 } };
    const call = ['RelayPrefetchedStreamCache', 'next', [], ['adp_X', { __bbox: { result: { data } } }]];
    const route = { rootView: { resource: { __dr: 'CometSinglePostRoot.react' }, props: { storyID: story } } };
    const params = { story_token: alias('a') };
    const html = `<html><head></head><body><script>${JSON.stringify({ ...route, params })}</script>
      <script type="application/json" data-sjs>${JSON.stringify({ require: [call] })}</script></body></html>`;
    const link = matchedLink(matchItem(new URL(`${SITE}/someone/posts/${alias('a')}`)));
    if (!link) throw new Error('the link does not match');
    const outcome = readPage({ status: 200, url: new URL(link.url), html }, link, siteConfig);
    expect(outcome.kind === 'found' && outcome.found[0]).to.deep.include({ precision: { likes: 'exact' } });
    expect(outcome.kind === 'found' && outcome.found[0]?.ids?.post_id).to.equal(id);
  });

  it('of a group in place of its post are for members', () => {
    const address = `${SITE}/groups/loom.repairs/permalink/7020000000000777/`;
    const link = matchedLink(matchItem(new URL(address)));
    if (!link) throw new Error('the link does not match');
    const html = `<html><head><title>Loom repairs | Facebook</title><meta property="og:title" content="Loom repairs" />
      <meta property="og:url" content="${SITE}/groups/loom.repairs/" /></head></html>`;
    const outcome = readPage({ status: 200, url: new URL(address), html }, link, siteConfig);
    expect(outcome).to.include({ kind: 'definitive', code: 'login_required' });
  });

  it('contain the files of a post that is a reel', () => {
    const outcome = read('reel-2025/reel.html', `${SITE}/tidewater.mill/posts/122300000000000417`);
    if (outcome.kind !== 'found') throw new Error(`not found: ${outcome.code}`);
    expect(outcome.found[0]?.media?.video_urls).to.have.length(2);
    expect(outcome.found[0]?.ids).to.include({ post_id: '122300000000000417', video_id: '730000000000417' });
    expect(outcome.found[0]?.metrics).to.include({ likes: 2841 });
  });

  it('give the shared post its own data if requested', () => {
    const outcome = read('group-2022/group.html', `${SITE}/someone.shared/posts/3320000000000611`);
    if (outcome.kind !== 'found') throw new Error(`not found: ${outcome.code}`);
    const { common, metrics } = mergePosts(outcome.found.map((found) => ({ method: 'page', found })));
    expect(common.caption).to.equal('An older story that is shared here');
    expect(metrics).to.include({ likes: 98765, shares: 4321 });
  });
});

describe('social photos', () => {
  const id = '5610000000000733';
  const uri = `https://scontent.invented.fbcdn.net/v/t39.30808-6/lamp_${id}_n.jpg?oe=6A2F0000`;
  const image = { uri, width: 960, height: 720 };
  const story = {
    __typename: 'Story',
    id: 'UzpfSW52ZW50ZWQ=',
    post_id: '4410000000000733',
    message: { text: 'A lamp of 1908' },
    attachments: [{ media: { __typename: 'Photo', id } }],
  };
  const photo = { __typename: 'Photo', id, image, created_time: 1771412345, owner: { id: '100001000000733' } };

  function readPhoto(...nodes: object[]) {
    const call = (data: object) => [siteConfig.markers.relay, 'next', [], ['adp_X', { __bbox: { result: { data } } }]];
    const json = JSON.stringify({ require: nodes.map(call) });
    const html = `<html><head></head><body><script type="application/json">${json}</script></body></html>`;
    const link = matchedLink(matchItem(new URL(`${SITE}/photo/?fbid=${id}`)));
    if (!link) throw new Error('the link does not match');
    const outcome = readPage({ status: 200, url: new URL(link.url), html }, link, siteConfig);
    if (outcome.kind !== 'found') throw new Error(`not found: ${outcome.code}`);
    return mergePosts(outcome.found.map((found) => ({ method: 'page', found })));
  }

  for (const [what, ...nodes] of [
    ['in the node of the photo', { currMedia: { ...photo, creation_story: story } }],
    ['in a node that names no type', { currMedia: photo }, { mediaset: { id, creation_story: story } }],
    ['in a node with the picture only', { currMedia: { id, viewer_image: image, creation_story: story } }],
  ] as [string, ...object[]][]) {
    it(`are no videos if their story is ${what}`, () => {
      const { ids, media, common } = readPhoto(...nodes);
      expect(ids).to.deep.include({ post_id: story.post_id }).and.not.to.have.property('video_id');
      const kinds = media.entries?.map(({ kind }) => kind);
      expect({ images: media.image_urls, kinds, caption: common.caption }).to.deep.equal({
        images: [uri],
        kinds: ['image'],
        caption: 'A lamp of 1908',
      });
    });
  }
});

describe('social media addresses', () => {
  it('contain their expiry, length and line count', () => {
    const efg = Buffer.from('{"vencode_tag":"xpv.x.dash_h264-basic-gen2_720p","duration_s":41}').toString('base64');
    const reading = readAddress(`https://video.invented.fbcdn.net/a.mp4?efg=${encodeURIComponent(efg)}&oe=6A2F1234`);
    expect(reading).to.include({ expires_at: '2026-06-14T20:42:28Z', duration_seconds: 41, quality: '720p' });
    expect(readAddress('https://video.invented.fbcdn.net/a.mp4?efg=%00&oe=zz').expires_at).to.equal(undefined);
  });

  it('are read from a manifest with its attributes', () => {
    const xml = `<MPD mediaPresentationDuration="PT1M1.5S"><AdaptationSet contentType="audio" mimeType="audio/mp4">
      <Representation id="a" bandwidth="64000" codecs="mp4a.40.5"><BaseURL>https://v.fbcdn.net/s.mp4?a=1&amp;b=2</BaseURL>
      </Representation></AdaptationSet><AdaptationSet mimeType="video/mp4"><Representation id="v"/></AdaptationSet></MPD>`;
    const [sound, ...others] = manifestFiles(xml);
    expect(others).to.deep.equal([]);
    expect(sound).to.include({ url: 'https://v.fbcdn.net/s.mp4?a=1&b=2', kind: 'audio', bitrate: 64000 });
    expect(sound).to.include({ has_audio: true, has_video: false, duration_seconds: 61.5 });
    expect(manifestFiles('<MPD><AdaptationSet mimeType="video/mp4"><Representation ')).to.deep.equal([]);
  });
});

describe('social texts', () => {
  it('have hashtags in any script, and none in addresses', () => {
    expect(hashtagsIn('#Čaj and #緑茶, see https://a.example/x#part and #2026 #Čaj')).to.deep.equal(['Čaj', '緑茶']);
  });
});

describe('social extractor', () => {
  it('uses only the smallest audio for an MP3', async () => {
    const http = createReplay(readFixture(fixture('watch-2025')));
    const extractor = extractorOf(await setUpPlugin({ plugin: social, http }));
    const link = matchedLink(extractor.match(new URL(`${SITE}/watch/?v=1250000000000338`)));
    if (!link) throw new Error('the link does not match');
    const source = await extractor.resolveAudio?.({ link, options: {}, signal });
    expect(source).to.include({ mime: 'audio/mp4', durationSeconds: 41.2 });
    expect(source?.url).to.contain('338-sound');
    expect(extractor.mediaHosts?.some((host) => new URL(source?.url ?? '').hostname.endsWith(host))).to.equal(true);
  });

  it('shows from the page for embedding what its own page hides behind a login form', async () => {
    const plugin = readFileSync(path.join(fixture('plugin-only'), 'plugin.html'), 'utf8');
    const login: FakeReply = { status: 302, headers: { location: `${SITE}/login/?next=x` } };
    const http = createFakeHttp(({ url }) => (String(url).includes('/plugins/') ? { body: plugin } : login));
    const extractor = extractorOf(await setUpPlugin({ plugin: social, http }));
    const link = matchedLink(extractor.match(new URL(`${SITE}/orchard.watch/posts/7770000000000203`)));
    if (!link) throw new Error('the link does not match');
    const { method, data } = await extractor.extract({ link, options: {}, signal });
    expect(method).to.equal('plugin');
    expect('common' in data && data.common.author?.name).to.equal('Orchard Watch');
  });

  it('requests the addresses of its options in place of the defaults, and refuses unknown fields', async () => {
    const http = createFakeHttp([{ status: 404 }]);
    const override = { siteConfig: { urls: { pluginPost: `${SITE}/plugins/other.php?href={href}` } } };
    const extractor = extractorOf(await setUpPlugin({ plugin: social, http, options: override }));
    const link = matchedLink(extractor.match(new URL(`${SITE}/someone/posts/4410000000000731`)));
    if (!link) throw new Error('the link does not match');
    const error = await extractor.extract({ link, options: {}, signal }).catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'unavailable' });
    expect(http.requests.map(({ url }) => new URL(url).pathname)).to.include('/plugins/other.php');
    const wrong = await setUpPlugin({ plugin: social, http, options: { siteConfig: { nothing: 1 } } }).catch(String);
    expect(wrong).to.contain('no member "nothing"');
  });
});
