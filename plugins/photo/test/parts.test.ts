/** Shortcodes, preview lines and other small values of the photo network. */

import { expect } from 'chai';
import { expiryOf, GatewayError, hashtagsIn, matchedLink, readDashManifest } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, type FakeReply, setUpPlugin } from 'mediagate/testing';
import { siteConfigOf } from '../fetch.js';
import photo from '../index.js';
import { identityOf, timeOfMediaId } from '../links.js';
import { bestImage } from '../read/media.js';
import { parseDescription } from '../read/tags.js';

const { phrases } = siteConfigOf();

describe('photo: shortcodes', () => {
  it('contain the id in base 64, without the key of a private post', () => {
    expect(identityOf('C').mediaId).to.equal('2');
    expect(identityOf('DX6B-kzkPRH').mediaId).to.equal('3889429926361756743');
    expect(identityOf('DJ9H58TmKkhaBcDeFgHiJkLmNoPqRsTuVwXyZ01').mediaId).to.equal(identityOf('DJ9H58TmKkh').mediaId);
  });

  it('contain the time, unless they are older', () => {
    expect(timeOfMediaId('3889429926361756743')).to.equal('2026-05-04T06:30:00Z');
    expect(timeOfMediaId('2')).to.equal(undefined);
    expect(timeOfMediaId('9'.repeat(22))).to.equal(undefined);
  });
});

describe('photo: the line under a link preview', () => {
  const lines: [string, object][] = [
    [
      '12K likes, 215 comments - some.user on June 12, 2026: "one "two" three". ',
      { likes: 12000, comments: 215, username: 'some.user', caption: 'one "two" three', day: '2026-06-12' },
    ],
    [
      '1,234 Likes, 56 Comments - Some Name (@some_user) on Instagram: “cut short…”',
      { likes: 1234, comments: 56, username: 'some_user', name: 'Some Name', caption: 'cut short…' },
    ],
    ['7 comments - user on March 16, 2026: "a - b". ', { comments: 7, username: 'user', caption: 'a - b' }],
    ['user on March 16, 2026: "a 12 - b". ', { username: 'user', caption: 'a 12 - b' }],
    ['34 likes, 7 comments - user on March 16, 2026', { likes: 34, comments: 7, username: 'user' }],
    ['1 234 J’aime, 7 commentaires - user le 1 mai : « Bonjour »', { likes: 1234, comments: 7, caption: 'Bonjour' }],
    ['361 Me gusta, 3 comentarios - Ana (@x.y) en Instagram: "hola"', { likes: 361, comments: 3, name: 'Ana' }],
    ['Лайков: 12 тыс., комментариев: 34 — user от 1 мая: «да»', { likes: 12000, comments: 34, caption: 'да' }],
    [
      '「いいね！」34件、コメント7件 ― Mei(@mei.x)のInstagramアカウント: 「雨」',
      { likes: 34, comments: 7, name: 'Mei', caption: '雨' },
    ],
    ['1,204 views, 3 comments - user on May 1, 2024', { views: 1204, comments: 3 }],
    ['12.345 Mi piace, 34 commenti - user su May 1, 2026: "a".', { likes: 12345, comments: 34, day: '2026-05-01' }],
    ['12 E kedvelés, 34 hozzászólás – user, May 1, 2026: „a”.', { likes: 12000, comments: 34, caption: 'a' }],
    ['১২ হাজার লাইক, ৩৪টি কমেন্ট - user তারিখে May 1, 2026: "a"।', { likes: 12000, comments: 34, caption: 'a' }],
    ['See this Instagram photo by @marble.run • 1,234 likes', { likes: 1234, username: 'marble.run' }],
    ['', {}],
  ];

  for (const [line, wanted] of lines) {
    it(`is read: ${line || '(nothing)'}`, () => {
      const { metrics, username, name, caption, published_at } = parseDescription(line, phrases);
      const day = published_at?.slice(0, 10);
      expect({ ...metrics, username, name, caption, day }).to.deep.include(wanted);
      expect(Object.keys(metrics)).to.deep.equal(Object.keys(wanted).filter((key) => /likes|comments|views/.test(key)));
    });
  }
});

describe('photo: small parts', () => {
  it('finds hashtags as the site links them', () => {
    expect(hashtagsIn('#one, a#b &#39; #two🎉 #three_3 #2025 ＃四 #one')).to.deep.equal([
      'one',
      'two🎉',
      'three_3',
      '四',
    ]);
    expect(hashtagsIn('none')).to.equal(undefined);
  });

  it('use the largest image that is not cropped', () => {
    const square = { url: 'https://a.example/square.jpg', width: 2000, height: 2000 };
    const whole = { url: 'https://a.example/whole.jpg', width: 1080, height: 1350 };
    const small = { url: 'https://a.example/small.jpg', width: 320, height: 400 };
    expect(bestImage([square, small, whole], { width: 2160, height: 2700 })?.url).to.equal(whole.url);
    expect(bestImage([small, square])?.url).to.equal(square.url);
    expect(bestImage([{ url: 'javascript:x' }])).to.equal(undefined);
  });

  it('reads the end of an address from it', () => {
    expect(expiryOf('https://a.example/x.jpg?oe=6A6C4E54&x=1')).to.equal('2026-07-31T07:27:16Z');
    expect(expiryOf('https://a.example/x.jpg?foe=6A6C4E54')).to.equal(undefined);
    expect(expiryOf('https://a.example/x.jpg?oe=00000000')).to.equal(undefined);
  });

  it('ignores invalid manifests', () => {
    for (const text of [
      undefined,
      12,
      '',
      '<MPD',
      '<MPD><AdaptationSet><Representation></Representation></AdaptationSet>',
    ]) {
      expect(readDashManifest(text)).to.deep.equal({ files: [] });
    }
  });

  it('names the wrong field of an override', () => {
    expect(() => siteConfigOf({ queries: { post: { docId: 12 } } })).to.throw(
      TypeError,
      'siteConfig.queries.post.docId',
    );
    expect(siteConfigOf({ queries: { post: { docId: '1' } } }).queries.post).to.include({ docId: '1' });
  });
});

describe('photo: share links', () => {
  async function resolve(replies: readonly FakeReply[]): Promise<string> {
    const http = createFakeHttp(replies);
    const extractor = extractorOf(await setUpPlugin({ plugin: photo, http }));
    const link = matchedLink(extractor.match(new URL('https://www.instagram.com/share/BAinvented_42')));
    if (!link || !extractor.resolve) throw new Error('no share link');
    const signal = new AbortController().signal;
    try {
      return (await extractor.resolve({ link, signal })).href;
    } catch (error) {
      if (error instanceof GatewayError) return error.code;
      throw error;
    }
  }
  const to = (location: string): FakeReply => ({ status: 302, headers: { location } });
  const site = 'https://www.instagram.com';

  const ends: [string, readonly FakeReply[], string][] = [
    ['a reel', [to('/reel/DSo4JITpP2y/?igsh=x')], `${site}/reel/DSo4JITpP2y/?igsh=x`],
    ['another share link first', [to(`${site}/share/p/BAother_7`), to('/p/DSo4JITpP2y/')], `${site}/p/DSo4JITpP2y/`],
    ['a profile, for others to refuse', [to('/weir.diary/')], `${site}/weir.diary/`],
    ['the home page', [to('/')], 'short_link_dead'],
    ['nothing', [{ status: 404 }], 'short_link_dead'],
    ['the login page of a post', [to('/accounts/login/?next=%2Fp%2FDSo4JITpP2y%2F')], `${site}/p/DSo4JITpP2y/`],
    ['the login page', [to('/accounts/login/')], 'login_required'],
    [
      'a login page that names another host',
      [to('/accounts/login/?next=//evil.example/p/DSo4JITpP2y/')],
      'login_required',
    ],
    ['a challenge', [to('/challenge/?x=1')], 'bot_check'],
    ['another site', [to('https://evil.example/')], 'redirected_to_unsupported'],
    [
      'a page that names the post',
      [{ body: '' }, { body: `<meta property="og:url" content="${site}/p/DSo4JITpP2y/" />` }],
      `${site}/p/DSo4JITpP2y/`,
    ],
    [
      'a page that is not there',
      [{ body: '' }, { body: '<title>Page not found • Instagram</title>' }],
      'short_link_dead',
    ],
    ['an empty page', [{ body: '' }], 'upstream_refused'],
  ];

  for (const [name, replies, end] of ends) {
    it(`leads to ${name}`, async () => expect(await resolve(replies)).to.equal(end));
  }
});
