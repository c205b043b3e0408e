/** HLS playlists and DASH manifests: what they list, what is refused, and which parts a cut needs. */

import { expect } from 'chai';
import { readDash } from '../../../core/extraction/video/dash.js';
import { indexOf } from '../../../core/extraction/video/file-index.js';
import { readMaster, readSegments } from '../../../core/extraction/video/hls.js';
import {
  choosePicture,
  chooseSound,
  cutOf,
  type Offer,
  partsWithin,
  type Track,
} from '../../../core/extraction/video/tracks.js';
import { isGatewayError } from '../../../core/runtime/index.js';

const BASE = 'https://media.example/a/b.m3u8?x=1';
const playlist = (...lines: string[]) => ['#EXTM3U', ...lines, '#EXT-X-ENDLIST'].join('\n');
const addresses = ({ segments }: Track) => segments.map(({ url }) => url);
const times = ({ segments }: Track) => segments.map(({ at, seconds }) => [at, seconds]);

/** The code that reading ends with. */
function refusal(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return isGatewayError(error) ? error.code : String(error);
  }
}

describe('HLS playlists', () => {
  it('list variants with their size, and the groups of their sound', () => {
    const master = readMaster(
      playlist(
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Main, loud",LANGUAGE="en",DEFAULT=YES,URI="sound.m3u8"',
        '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="x",URI="words.m3u8"',
        '#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS="avc1.4d401e,mp4a.40.2",RESOLUTION=640x360,AUDIO="a"',
        '',
        'low.m3u8',
        '#EXT-X-STREAM-INF:BANDWIDTH=5000,RESOLUTION=1280x720',
        '/high.m3u8',
      ),
      BASE,
    );
    expect(
      master?.variants.map(({ url, height, bitrate, audioGroup }) => [url, height, bitrate, audioGroup]),
    ).to.deep.equal([
      ['https://media.example/a/low.m3u8', 360, 1000, 'a'],
      ['https://media.example/high.m3u8', 720, 5000, undefined],
    ]);
    expect(
      master?.renditions.map(({ url, group, language, label, isDefault }) => [url, group, language, label, isDefault]),
    ).to.deep.equal([['https://media.example/a/sound.m3u8', 'a', 'en', 'Main, loud', true]]);
    expect(readMaster(playlist('#EXTINF:4,', 's'), BASE)).to.equal(undefined);
  });

  it('list segments with times, ranges that follow each other, keys and what decoders need first', () => {
    const track = readSegments(
      playlist(
        '#EXT-X-MEDIA-SEQUENCE:7',
        '#EXT-X-MAP:URI="i.mp4",BYTERANGE="10@0"',
        '#EXTINF:4.5,title',
        '#EXT-X-BYTERANGE:100@10',
        's.mp4',
        '#EXT-X-KEY:METHOD=AES-128,URI="k"',
        '#EXTINF:4,',
        '#EXT-X-BYTERANGE:50',
        's.mp4',
        '#EXT-X-KEY:METHOD=NONE',
        '#EXTINF:1,',
        'https://other.example/t.mp4',
      ),
      BASE,
    );
    expect(track.init).to.deep.equal({ url: 'https://media.example/a/i.mp4', range: { start: 0, end: 9 } });
    expect(times(track)).to.deep.equal([
      [0, 4.5],
      [4.5, 4],
      [8.5, 1],
    ]);
    expect(track.segments.map(({ range }) => range)).to.deep.equal([
      { start: 10, end: 109 },
      { start: 110, end: 159 },
      undefined,
    ]);
    const iv = Buffer.alloc(16);
    iv[15] = 8;
    expect(track.segments[1]?.key).to.deep.equal({ url: 'https://media.example/a/k', iv });
    expect(track.segments[2]).not.to.have.property('key');
  });

  it('are refused if they have no end, are protected, join recordings, or are none', () => {
    const cases = {
      'no end': '#EXTM3U\n#EXTINF:4,\ns.ts',
      'a page': '<html>#EXTM3U',
      protected: playlist('#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://x"', '#EXTINF:4,', 's.ts'),
      'a wrong key': playlist('#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x12', '#EXTINF:4,', 's.ts'),
      joined: playlist('#EXTINF:4,', 's.ts', '#EXT-X-DISCONTINUITY', '#EXTINF:4,', 't.ts'),
      'two maps': playlist('#EXT-X-MAP:URI="a"', '#EXTINF:4,', 's', '#EXT-X-MAP:URI="b"', '#EXTINF:4,', 't'),
      empty: playlist(),
      'a negative duration': playlist('#EXTINF:-1,', 's.ts'),
      'too many': playlist(...Array.from({ length: 50_001 }, () => '#EXTINF:1,\ns.ts')),
    };
    for (const [what, text] of Object.entries(cases)) {
      expect(
        refusal(() => readSegments(text, BASE)),
        what,
      ).to.equal('media_unavailable');
    }
  });

  it('keep foreign addresses as they are: the host list refuses them', () => {
    const track = readSegments(playlist('#EXTINF:1,', 'file:///etc/passwd', '#EXTINF:1,', 'http://127.0.0.1/x'), BASE);
    expect(addresses(track)).to.deep.equal(['file:///etc/passwd', 'http://127.0.0.1/x']);
  });
});

describe('DASH manifests', () => {
  const manifest = (period: string, attributes = 'mediaPresentationDuration="PT10S"') =>
    `<?xml version="1.0"?><!-- <MPD> --><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" ${attributes}>
     <BaseURL>https://cdn.example/v/</BaseURL><Period>${period}</Period></MPD>`;
  const set = (content: string) => manifest(`<AdaptationSet mimeType='video/mp4' lang="en">${content}</AdaptationSet>`);
  const only = (text: string) => readDash(text, BASE)[0]?.track() as Track;

  it('list representations by templates with numbers', () => {
    const text = set(
      `<SegmentTemplate timescale="1000" duration="4000" startNumber="3" media="$RepresentationID$/$Number%04d$.m4s?a&amp;b" initialization="$RepresentationID$/i.mp4"/>
       <Representation id="v1" bandwidth="1000" height="360" codecs="avc1.4d401e"/>
       <Representation id="v2" bandwidth="2000" height="720"><BaseURL>more/</BaseURL></Representation>`,
    );
    const [low, high] = readDash(text, BASE);
    expect([low?.height, low?.codecs, high?.mime, high?.language]).to.deep.equal([
      360,
      'avc1.4d401e',
      'video/mp4',
      'en',
    ]);
    const track = low?.track() as Track;
    expect(track.init?.url).to.equal('https://cdn.example/v/v1/i.mp4');
    expect(addresses(track)).to.deep.equal([3, 4, 5].map((n) => `https://cdn.example/v/v1/000${n}.m4s?a&b`));
    expect(times(track)).to.deep.equal([
      [0, 4],
      [4, 4],
      [8, 4],
    ]);
    expect(addresses(high?.track() as Track)[0]).to.equal('https://cdn.example/v/more/v2/0003.m4s?a&b');
  });

  it('list representations by timelines, with gaps and repetitions to the end', () => {
    const text = set(
      `<Representation id="v"><SegmentTemplate timescale="10" presentationTimeOffset="100" media="$Time$.m4s">
       <SegmentTimeline><S t="100" d="20" r="1"/><S d="30" r="-1"/></SegmentTimeline></SegmentTemplate></Representation>`,
    );
    const track = only(text);
    expect(addresses(track).map((url) => url.split('/').at(-1))).to.deep.equal([
      '100.m4s',
      '120.m4s',
      '140.m4s',
      '170.m4s',
    ]);
    expect(times(track)).to.deep.equal([
      [0, 2],
      [2, 2],
      [4, 3],
      [7, 3],
    ]);
  });

  it('list representations by ranges, and as whole files', () => {
    const listed = only(
      set(`<Representation id="v"><BaseURL>v.mp4</BaseURL><SegmentList timescale="1" duration="5">
        <Initialization range="0-99"/><SegmentURL mediaRange="100-199"/><SegmentURL mediaRange="200-299"/></SegmentList></Representation>`),
    );
    expect(listed.init).to.deep.equal({ url: 'https://cdn.example/v/v.mp4', range: { start: 0, end: 99 } });
    expect(listed.segments.map(({ range }) => range?.start)).to.deep.equal([100, 200]);
    const file = only(
      set('<Representation id="v"><BaseURL>v.mp4</BaseURL><SegmentBase indexRange="1-2"/></Representation>'),
    );
    expect(file).to.deep.equal({
      isFile: true,
      segments: [{ url: 'https://cdn.example/v/v.mp4', at: 0, seconds: 10 }],
    });
  });

  it('are refused if they run, are protected, have several periods, have entities, or are endless', () => {
    const template = (attributes: string) => set(`<SegmentTemplate ${attributes}/><Representation id="v"/>`);
    const cases = {
      'a page': '<html></html>',
      running: manifest('', 'type="dynamic"'),
      entities: `<!DOCTYPE MPD [<!ENTITY a "b">]>${manifest('')}`,
      unclosed: '<MPD><Period>',
      deep: '<a>'.repeat(10_000),
      'two periods': manifest('</Period><Period>'),
      protected: set('<ContentProtection schemeIdUri="x"/><Representation id="v"/>'),
      'no duration': template('media="a"'),
      'too many': template('media="a" duration="1" timescale="100000"'),
      'a timeline without end': set(
        '<Representation id="v"><SegmentTemplate media="a"><SegmentTimeline><S d="1" r="99999999"/></SegmentTimeline></SegmentTemplate></Representation>',
      ),
    };
    for (const [what, text] of Object.entries(cases)) {
      expect(
        refusal(() => readDash(text, BASE).map((one) => one.track())),
        what,
      ).to.equal('media_unavailable');
    }
  });
});

describe('tracks', () => {
  const offer = (height: number, more: Partial<Offer> = {}): Offer => ({ mime: 'video/mp4', height, ...more });

  it('are chosen by height within a limit, and enlarged ones last', () => {
    const offers = [offer(720), offer(1080), offer(360), offer(2160, { label: 'enlarged by the platform' })];
    const height = (maxHeight?: number) => choosePicture(offers, { container: 'mp4', maxHeight })?.height;
    expect([height(), height(1080), height(1079), height(100)]).to.deep.equal([1080, 1080, 720, 360]);
    expect(choosePicture([offer(720, { mime: 'video/webm' })], { container: 'mp4' })).to.equal(undefined);
    expect(choosePicture([offer(720, { codecs: 'vp8' })], { container: 'mp4' })).to.equal(undefined);
  });

  it('of sound are those of the language, unchanged, with the most bits', () => {
    const sound = (bitrate: number, more: Partial<Offer> = {}): Offer => ({ mime: 'audio/mp4', bitrate, ...more });
    const [plain, loud, dubbed] = [
      sound(100, { language: 'fr' }),
      sound(300, { label: 'even loudness' }),
      sound(200, { language: 'de' }),
    ];
    expect(chooseSound([loud, dubbed, plain, sound(50)], 'mp4', 'fr')).to.equal(plain);
  });

  it('are cut at their parts, and neighbours in a file are fetched together', () => {
    const segments = [0, 4, 8].map((at) => ({
      url: 'u',
      at,
      seconds: 4,
      range: { start: at * 10, end: at * 10 + 39 },
    }));
    const track = { init: { url: 'u', range: { start: 500, end: 599 } }, segments };
    expect(cutOf(track, 5, 6)).to.deep.equal({ start: 4, end: 8 });
    expect(cutOf(track, 0, undefined)).to.deep.equal({ start: 0, end: 12 });
    expect(cutOf(track, 3.9, 99)).to.deep.equal({ start: 0, end: 12 });
    expect(refusal(() => cutOf(track, 12, undefined))).to.equal('invalid_value');
    expect(partsWithin(track, { start: 4, end: 12 }).map(({ range }) => range)).to.deep.equal([
      { start: 500, end: 599 },
      { start: 40, end: 119 },
    ]);
  });

  it('of a file without an index have none, whatever its bytes are', () => {
    for (const head of [
      Buffer.alloc(0),
      Buffer.alloc(40, 0xff),
      Buffer.from('0000001866747970', 'hex'),
      Buffer.from('1a45dfa3ff18538067ff', 'hex'),
    ]) {
      expect(indexOf({ url: 'u', size: 100, head })).to.equal(undefined);
    }
  });
});
