/** What the short-video plugin reads from pages, tags, scripts and the embedded player. */

import { expect } from 'chai';
import { isGatewayError } from 'mediagate/plugin';
import { siteConfigOf } from '../fetch.js';
import { chooseAudio, isFetchable, lifeOf, mimeOf, parseVideoFiles } from '../read/files.js';
import { ofPlayer, parseCounters, parseFollowers } from '../read/item.js';
import { outcomeOfPage, outcomeOfPlayer, readState } from '../read/outcomes.js';
import { readPageNodes } from '../read/page.js';
import { parsePageTags } from '../read/page-tags.js';
import { languageTag, tagsOf, urlsIn } from '../read/values.js';

const siteConfig = siteConfigOf();
const ID = '7670000000000000001';

describe('clip_video counters', () => {
  it('are rounded if the page shows only rounded numbers', () => {
    const { metrics, precision } = parseCounters({
      playCount: 1_700_000,
      diggCount: 86_500,
      collectCount: '49505',
      commentCount: 262,
    });
    expect(metrics).to.deep.include({
      views: 1_700_000,
      plays: 1_700_000,
      likes: 86_500,
      saves: 49_505,
      comments: 262,
    });
    expect(precision).to.deep.include({ views: 'rounded', likes: 'rounded', saves: 'exact', comments: 'exact' });
  });

  it('are exact if the second block is more precise than the first', () => {
    const { metrics, precision } = parseCounters(
      { playCount: 95_900_000, diggCount: 20_000 },
      { playCount: '95856713', diggCount: '20000' },
    );
    expect(metrics).to.deep.include({ views: 95_856_713, likes: 20_000 });
    expect(precision).to.deep.include({ views: 'exact', likes: 'exact' });
  });

  it('stay rounded if the second block repeats the first', () => {
    expect(parseCounters({ playCount: 76_000 }, { playCount: '76000' }).precision).to.deep.include({
      views: 'rounded',
    });
    expect(parseFollowers({ followerCount: 1_900_000 }).precision).to.deep.equal({ subscriber_count: 'rounded' });
  });

  it('of the embedded player are exact if one of them is', () => {
    expect(ofPlayer(parseCounters({ playCount: 128_437, diggCount: 20_000 })).precision).to.include({ likes: 'exact' });
    expect(ofPlayer(parseCounters({ playCount: 76_000, diggCount: 20_000 })).precision).to.include({
      likes: 'rounded',
    });
  });

  it('are dropped if they are negative or broken', () => {
    expect(parseCounters({ playCount: -1, diggCount: 'many', shareCount: 1.5 }).metrics).to.deep.equal({});
  });
});

describe('clip_video states', () => {
  for (const [code, message, expected] of [
    ['10204', "item doesn't exist", 'removed'],
    ['10204', 'status_deleted', 'removed'],
    ['10204', undefined, 'removed'],
    ['10204', 'status_self_see', 'private'],
    ['10204', 'person_geo_fencing', 'geo_blocked'],
    ['10204', 'copyright_geo_filter', 'geo_blocked'],
    ['10204', 'status_audit_not_pass', 'under_review'],
    ['10204', 'content_classification', 'age_restricted'],
    ['10216', "item doesn't exist", 'private'],
    ['10222', 'user private', 'private'],
    ['10231', 'cross_border_violation', 'geo_blocked'],
    ['10221', undefined, 'unavailable'],
    ['10000', undefined, 'bot_check'],
    ['10102', undefined, 'login_required'],
    ['-1', undefined, 'upstream_error'],
  ] as const) {
    it(`reads ${code}${message ? ` ${message}` : ''} as ${expected}`, () => {
      const state = readState({ code, message }, siteConfig);
      // Where other methods may still show the item, the meaning is the cause of a refusal.
      const restriction = state.kind === 'transient' ? state.cause : undefined;
      expect(isGatewayError(restriction) ? restriction.code : state.code).to.equal(expected);
      expect(state.reason).to.contain(code);
    });
  }
});

describe('clip_video files', () => {
  it('reads the expiry of an address from its query, its path or the page', () => {
    expect(lifeOf('https://v16.tiktok.com/video/?expire=1780700000').expires_at).to.equal('2026-06-05T22:53:20Z');
    expect(lifeOf('https://p16.tiktokcdn.com/x~y.jpeg?x-expires=1780700400').expires_at).to.equal(
      '2026-06-05T23:00:00Z',
    );
    const path = 'https://v77.tiktokcdn.com/0123456789abcdef0123456789abcdef/6a235160/video/x/';
    expect(lifeOf(path).expires_at).to.equal('2026-06-05T22:44:48Z');
    expect(lifeOf('https://v16.tiktok.com/sub/', '1780700000').expires_at).to.equal('2026-06-05T22:53:20Z');
    expect(lifeOf('https://v16.tiktok.com/sub/').expires_at).to.equal(undefined);
  });

  it('marks addresses that need the cookies of the visit', () => {
    expect(lifeOf('https://v16.tiktok.com/v/?tk=tt_chain_token').bound_to).to.deep.equal(['cookie', 'referer']);
    expect(lifeOf('https://v16m.tiktokcdn.com/v/').bound_to).to.equal(undefined);
  });

  it('leaves out files that only the app or the site can play', () => {
    expect(isFetchable('https://www.tiktok.com/aweme/v1/play/?video_id=x')).to.equal(false);
    expect(isFetchable('https://v16.tiktok.com/x/media-video-hvc1/?a=1')).to.equal(false);
    const files = parseVideoFiles(
      {
        bitrateInfo: [
          { CodecType: 'bytevc2', PlayAddr: { UrlList: ['https://v16.tiktok.com/vvc/'] } },
          {
            CodecType: 'h264',
            Bitrate: 5,
            PlayAddr: { UrlList: ['https://www.tiktok.com/aweme/v1/play/', 'https://v19.tiktok.com/avc/'] },
          },
        ],
      },
      false,
    );
    expect(files.map(({ url }) => url)).to.deep.equal(['https://v19.tiktok.com/avc/']);
  });

  it('reads a play address that is a list of sources', () => {
    const [file] = parseVideoFiles(
      { playAddr: [{ src: 'https://v16.tiktok.com/a.mp4' }], width: 576, height: 1024 },
      false,
    );
    expect(file).to.include({ url: 'https://v16.tiktok.com/a.mp4', width: 576, has_audio: true });
  });

  it('does not use audio of a slideshow as a video', () => {
    expect(parseVideoFiles({ playAddr: 'https://v16.tiktok.com/s/?mime_type=audio_mpeg' }, false)).to.deep.equal([]);
    expect(mimeOf('https://v16.tiktok.com/s/?mime_type=audio_mpeg')).to.equal('audio/mpeg');
    expect(mimeOf('https://sf16.tiktokcdn.com/obj/x.m4a')).to.equal('audio/mp4');
  });

  it('uses the smallest file with audio for the audio', () => {
    const sound = { url: 'https://a.example/m', kind: 'audio', has_audio: true } as const;
    const large = { url: 'https://a.example/l', kind: 'video', has_audio: true, codecs: 'avc1', size: 900 } as const;
    const small = { ...large, url: 'https://a.example/s', size: 100 };
    const rare = { ...large, url: 'https://a.example/r', codecs: 'hvc1', size: 10 };
    expect(chooseAudio([sound, large, rare, small])?.url).to.equal(small.url);
    expect(chooseAudio([sound])?.url).to.equal(sound.url);
    expect(chooseAudio([{ ...small, has_audio: false }, sound])).to.equal(undefined);
    expect(chooseAudio([sound, small], (file) => file !== small)).to.equal(undefined);
    expect(chooseAudio([])).to.equal(undefined);
  });
});

describe('clip_video values', () => {
  it('reads addresses in every notation', () => {
    expect(urlsIn('//p16.tiktokcdn.com/a')).to.deep.equal(['https://p16.tiktokcdn.com/a']);
    expect(urlsIn({ urlList: ['https://a.example/1', '', null] })).to.deep.equal(['https://a.example/1']);
    expect(urlsIn({ url_list: ['https://a.example/1'] })).to.deep.equal(['https://a.example/1']);
    expect(urlsIn('')).to.deep.equal([]);
    expect(urlsIn('javascript:alert(1)')).to.deep.equal([]);
  });

  it('writes languages as BCP 47 tags', () => {
    expect(languageTag('eng-US')).to.equal('en-US');
    expect(languageTag('vie-VN')).to.equal('vi-VN');
    expect(languageTag('cmn-Hans-CN')).to.equal('zh-Hans-CN');
    expect(languageTag('un')).to.equal(undefined);
    expect(languageTag('???')).to.equal(undefined);
  });

  it('reads hashtags of every script, each once', () => {
    expect(tagsOf('#QuédateEnCasa #スターク #quédateencasa', 'More')).to.deep.equal([
      'QuédateEnCasa',
      'スターク',
      'More',
    ]);
    expect(tagsOf('no tags # here')).to.equal(undefined);
  });
});

describe('clip_video pages', () => {
  const script = (id: string, value: unknown) =>
    `<script id="${id}" type="application/json">${JSON.stringify(value)}</script>`;
  const item = {
    id: ID,
    desc: 'A clip',
    author: { uniqueId: 'somebody', id: '68' },
    stats: { diggCount: 5 },
    createTime: '1780300805',
  };

  it("finds the data for any order of the script's attributes", () => {
    const html = `<script type="application/json" id='api-data' nonce="x">\n ${JSON.stringify({ videoDetail: { itemInfo: { itemStruct: item } } })}</script>`;
    expect(readPageNodes(html, ID).items).to.have.length(1);
  });

  it('reads state that a script assigns', () => {
    const state = JSON.stringify({ ItemModule: { [ID]: item } });
    const html = `<script id="sigi-persisted-data">window['SIGI_STATE']=${state};window['SIGI_RETRY']={};</script>`;
    expect(readPageNodes(html, ID).items).to.deep.equal([item]);
  });

  it('keeps every digit of ids that were sent as numbers', () => {
    const html = `<script id="__NEXT_DATA__">{"props":{"pageProps":{"itemInfo":{"itemStruct":{"id":${ID},"author":{"id":6801234567890123457,"uniqueId":"a.b"},"desc":"x"}}}}}</script>`;
    const outcome = outcomeOfPage(html, ID, siteConfig);
    expect('found' in outcome && outcome.found?.ids?.author_id).to.equal('6801234567890123457');
  });

  it('reads nothing from other items', () => {
    const other = { ...item, id: '7699999999999999001' };
    const html = script('__UNIVERSAL_DATA_FOR_REHYDRATION__', {
      __DEFAULT_SCOPE__: { 'webapp.video-detail': { statusCode: 0, itemInfo: { itemStruct: other } } },
    });
    expect(outcomeOfPage(html, ID, siteConfig)).to.include({ kind: 'transient', code: 'upstream_refused' });
  });

  it('finds the requested item anywhere in the data', () => {
    const html = script('__UNIVERSAL_DATA_FOR_REHYDRATION__', {
      __DEFAULT_SCOPE__: { 'webapp.updated-items': [{ ...item, id: '7699999999999999001' }, item] },
    });
    const outcome = outcomeOfPage(html, ID, siteConfig);
    expect('found' in outcome && outcome.found?.ids?.video_id).to.equal(ID);
  });

  it('reads a page without an author node', () => {
    const { author: _author, ...bare } = item;
    const html = script('__UNIVERSAL_DATA_FOR_REHYDRATION__', {
      __DEFAULT_SCOPE__: {
        'webapp.video-detail': { itemInfo: { itemStruct: { ...bare, author: 'somebody', authorName: 'Some Body' } } },
      },
    });
    const outcome = outcomeOfPage(html, ID, siteConfig);
    expect('found' in outcome && outcome.found?.common?.author).to.include({ username: 'somebody', name: 'Some Body' });
  });
});

describe('clip_video page tags', () => {
  const page = (tags: Readonly<Record<string, string>>) =>
    `<html><head><link rel="canonical" href="https://www.tiktok.com/@harbour.notes/video/${ID}">${Object.entries(tags)
      .map(([name, content]) => `<meta property="${name}" content="${content}">`)
      .join('')}</head></html>`;

  it('have rounded likes and comments, and the whole caption', () => {
    const post = parsePageTags(
      page({
        'og:title': 'Harbour Notes ⚓ on TikTok',
        'og:description': 'Spring tide. #tide',
        description:
          '4.8K Likes, 52 Comments. TikTok video from Harbour Notes ⚓ (@harbour.notes): &quot;Spring tide. #tide&quot;. original sound.',
      }),
      ID,
    );
    expect(post?.common).to.deep.include({ caption: 'Spring tide. #tide', tags: ['tide'] });
    expect(post?.common?.author).to.deep.include({ name: 'Harbour Notes ⚓', username: 'harbour.notes' });
    expect(post).to.deep.include({ metrics: { likes: 4_800, comments: 52 }, precision: { likes: 'rounded' } });
  });

  it('do not use the owner in the title as the caption', () => {
    const post = parsePageTags(
      page({ 'og:title': 'Harbour Notes (@harbour.notes) on TikTok', 'og:description': 'The lock at noon' }),
      ID,
    );
    expect(post?.common).to.deep.include({ caption: 'The lock at noon' });
    expect(post?.common?.author?.name).to.equal('Harbour Notes');
  });

  it('of another item are ignored', () => {
    expect(parsePageTags(page({ 'og:title': 'Spring tide' }), '7670000000000000002')).to.equal(undefined);
  });
});

describe('clip_video scripts', () => {
  const item = { id: ID, desc: 'A clip', createTime: '1780300805', author: { uniqueId: 'somebody' } };
  const universal = (scope: object) =>
    `<script id="__UNIVERSAL_DATA_FOR_REHYDRATION__" type="application/json">${JSON.stringify({ __DEFAULT_SCOPE__: scope })}</script>`;

  it('are read if the item is in a part of another name', () => {
    const html = universal({ 'webapp.i18n': { a: 1 }, 'webapp.newest': { itemInfo: { itemStruct: item } } });
    expect(readPageNodes(html, ID).items).to.deep.equal([item]);
  });

  it('are found in any notation of their tags', () => {
    const data = JSON.stringify({ __DEFAULT_SCOPE__: { 'webapp.video-detail': { itemInfo: { itemStruct: item } } } });
    for (const tag of [
      '<SCRIPT type="application/json" id="__UNIVERSAL_DATA_FOR_REHYDRATION__">',
      '<script nonce="a>b" id=\'__UNIVERSAL_DATA_FOR_REHYDRATION__\' data-rh>',
      '<script\n  id="__UNIVERSAL_DATA_FOR_REHYDRATION__"\r\n type="application/json">\n',
    ]) {
      expect(readPageNodes(`<html>${tag}${data}</script></html>`, ID).items, tag).to.deep.equal([item]);
    }
  });

  it('are not confused with the global that an earlier one empties', () => {
    const state = { source: { data: { [`/embed/v2/${ID}`]: { videoData: { itemInfos: { id: ID } } } } } };
    const html = `<script>window.__FRONTITY_CONNECT_STATE__ = null;</script><script id="__FRONTITY_CONNECT_STATE__" type="application/json">${JSON.stringify(state)}</script>`;
    expect(readPageNodes(html, ID).videoData).to.have.length(1);
  });

  it('explain the state of an item that no part of the page contains', () => {
    const html = universal({ 'webapp.video-detail': { statusCode: 10204, statusMsg: 'status_self_see' } });
    expect(readPageNodes(html, ID).states).to.deep.equal([{ code: '10204', message: 'status_self_see' }]);
  });
});

describe('clip_video replies of the player', () => {
  const reply = (item: object) => ({ items: [{ id_str: ID, author_info: { nickname: 'Harbour Notes' }, ...item }] });

  it('have the audio of a slideshow in place of its video', () => {
    const outcome = outcomeOfPlayer(
      reply({
        image_post_info: { images: [{ display_image: { url_list: ['https://p16.tiktokcdn.com/1.webp'] } }] },
        video_info: { url_list: ['https://v16m.tiktokcdn.com/sound.m4a'] },
      }),
      ID,
      siteConfig,
    );
    const post = outcome.kind === 'found' ? outcome.found : undefined;
    const entries = post?.media?.entries?.map(({ kind, mime }) => [kind, mime]);
    expect({ audio: post?.audio, videos: post?.media?.video_urls, entries }).to.deep.equal({
      audio: true,
      videos: [],
      entries: [
        ['image', undefined],
        ['audio', 'audio/mp4'],
      ],
    });
  });

  it('explain a missing item, in words or by number', () => {
    const codeOf = (code: unknown) => {
      const outcome = outcomeOfPlayer({ items: null, results: [{ id_str: ID, code }] }, ID, siteConfig);
      return outcome.kind === 'found' ? 'found' : outcome.code;
    };
    expect(codeOf('item_not_exist')).to.equal('removed');
    expect(codeOf('status_self_see')).to.equal('private');
    expect(codeOf(10216)).to.equal('private');
    expect(codeOf('10231')).to.equal('geo_blocked');
    expect(codeOf('7')).to.equal('upstream_refused');
    expect(codeOf(undefined)).to.equal('upstream_changed');
  });
});
