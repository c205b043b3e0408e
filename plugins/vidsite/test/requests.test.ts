/** Requests of the video-site plugin: clients, languages, limits and the embedded player. */

import path from 'node:path';
import { expect } from 'chai';
import { type Extractor, type GatewayError, type HttpRequest, matchedLink } from 'mediagate/plugin';
import { createFakeHttp, createReplay, extractorOf, pluginFolder, readFixture, setUpPlugin } from 'mediagate/testing';
import vidsite from '../index.js';

async function setUp(sample: string, entry?: Readonly<Record<string, unknown>>) {
  const replay = createReplay(readFixture(path.join(pluginFolder(import.meta.url), 'fixtures', sample)));
  const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, options: entry, http: replay }));
  return { extractor, replay };
}

function callFor(extractor: Extractor, id: string) {
  const link = matchedLink(extractor.match(new URL(`https://youtu.be/${id}`)));
  if (!link) throw new Error(`${id} does not match`);
  return { link, options: {}, signal: new AbortController().signal };
}

describe('vidsite: requests', () => {
  it('are three in the best case, without the page', async () => {
    const { extractor, replay } = await setUp('innertube-2026');
    await extractor.extract(callFor(extractor, 'Tugs0fOst3n'));
    expect(replay.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).to.have.members([
      'POST /youtubei/v1/player',
      'POST /youtubei/v1/player',
      'POST /youtubei/v1/next',
    ]);
  });

  it('state the client, its version, language and market', async () => {
    const { extractor, replay } = await setUp('innertube-2026', { language: 'nl', region: 'BE' });
    await extractor.extract(callFor(extractor, 'Tugs0fOst3n'));
    const [request] = replay.requests as readonly HttpRequest[];
    expect(request?.headers).to.include({
      'content-type': 'application/json',
      origin: 'https://www.youtube.com',
      'x-youtube-client-name': '101',
      cookie: 'SOCS=CAI',
    });
    expect(JSON.parse(String(request?.body))).to.deep.equal({
      context: {
        client: {
          clientName: 'VISIONOS',
          clientVersion: '1.02',
          deviceMake: 'Apple',
          deviceModel: 'RealityDevice17,1',
          osName: 'visionOS',
          osVersion: '26.5.23O471',
          userAgent: request?.headers?.['user-agent'],
          hl: 'nl',
          gl: 'BE',
          timeZone: 'UTC',
          utcOffsetMinutes: 0,
        },
      },
      videoId: 'Tugs0fOst3n',
      contentCheckOk: true,
      racyCheckOk: true,
    });
  });

  it('carry the visitor id of the latest reply, in the body and as a header', async () => {
    const http = createFakeHttp(() => ({ body: { responseContext: { visitorData: 'CgtvZnRoZXJlcGx5' } } }));
    const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, http }));
    await extractor.extract(callFor(extractor, 'Tugs0fOst3n')).catch(() => {});
    const first = http.requests.length;
    await extractor.extract(callFor(extractor, 'Other0fOst3')).catch(() => {});
    const sent = http.requests.slice(first).filter(({ url }) => String(url).includes('/youtubei/'));
    expect(sent).to.have.length.at.least(3);
    for (const { headers, body } of sent) {
      expect(headers).to.include({ 'x-goog-visitor-id': 'CgtvZnRoZXJlcGx5' });
      expect(JSON.parse(String(body)).context.client.visitorData).to.equal('CgtvZnRoZXJlcGx5');
    }
  });

  it('get a new visitor id from the page if the site refuses the current one', async () => {
    const refusal = { playabilityStatus: { status: 'LOGIN_REQUIRED', reason: 'Sign in to confirm you’re not a bot' } };
    const ids: (string | undefined)[] = [];
    const http = createFakeHttp(({ url, headers, body }) => {
      if (String(url).includes('/watch?'))
        return { body: '<script>ytcfg.set({"VISITOR_DATA":"CgtuZXdGcm9tUGFnZQ%3D%3D"})</script>' };
      if (!String(url).includes('/player') || !String(body).includes('VISIONOS')) return { status: 500 };
      ids.push(headers?.['x-goog-visitor-id']);
      return { body: ids.length === 1 ? { ...refusal, responseContext: {} } : refusal };
    });
    const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, http }));
    const error = await extractor.extract(callFor(extractor, 'Tugs0fOst3n')).catch(({ code }: GatewayError) => code);
    expect(error).to.equal('bot_check');
    // Once more with the new id, and not a third time; the page was fetched once.
    expect(ids).to.deep.equal([undefined, 'CgtuZXdGcm9tUGFnZQ%3D%3D']);
    expect(http.requests.filter(({ url }) => String(url).includes('/watch?'))).to.have.length(1);
  });

  it('have the header fields of a navigation if they fetch a page', async () => {
    const http = createFakeHttp(() => ({ status: 404 }));
    const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, http }));
    await extractor.extract(callFor(extractor, 'Tugs0fOst3n')).catch(() => {});
    const page = http.requests.find(({ url }) => String(url).includes('/watch?'));
    expect(page?.headers).to.include({
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': 'none',
      'sec-fetch-user': '?1',
      'upgrade-insecure-requests': '1',
    });
    const api = http.requests.find(({ url }) => String(url).includes('/youtubei/'));
    expect(api?.headers).not.to.have.property('sec-fetch-user');
  });

  it('end after the API if two of its answers agree that an item is gone', async () => {
    const { extractor, replay } = await setUp('removed');
    await extractor.extract(callFor(extractor, 'Rem0ved__08')).catch(() => {});
    expect(replay.requests.map(({ url }) => new URL(url).pathname)).to.not.include('/watch');
  });

  it('wait as long as the API asks, in seconds or as a date', async () => {
    const waits = async (text: string) => {
      const http = createFakeHttp(() => ({ status: 429, headers: { 'retry-after': text } }));
      const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, http }));
      const refused = await extractor.extract(callFor(extractor, 'Tugs0fOst3n')).catch((error: unknown) => error);
      return (refused as GatewayError).retryAfterSeconds;
    };
    expect(await waits('30')).to.equal(30);
    expect(await waits(new Date(Date.now() + 45_000).toUTCString())).to.be.within(1, 45);
    // However long it asks for, a client is told to wait for a minute at the most.
    expect(await waits(new Date(Date.now() + 40 * 3_600_000).toUTCString())).to.equal(60);
  });

  it('never carry the key in an address', async () => {
    const { extractor, replay } = await setUp('data-api', { apiKey: 'invented-key' });
    await extractor.extract(callFor(extractor, 'Dat4Api__19'));
    const toApi = replay.requests.filter(({ url }) => String(url).includes('googleapis.com'));
    expect(toApi).to.have.length(2);
    for (const { url, headers } of toApi) {
      expect(String(url)).to.not.include('invented-key');
      expect(headers).to.include({ 'x-goog-api-key': 'invented-key' });
    }
  });
});

describe('vidsite: the player of other sites', () => {
  const ID = 'K1dsHarbour';
  const details = { videoId: ID, title: 'Tugs for kids', author: 'Harbour', channelId: 'UC0123456789012345678901' };
  const file = {
    itag: 18,
    url: 'https://rr1.googlevideo.com/videoplayback?itag=18',
    mimeType: 'video/mp4; codecs="avc1.42001E, mp4a.40.2"',
    height: 360,
  };
  const ok = { status: 'OK', playableInEmbed: true };
  const first = (playabilityStatus: object) => ({ playabilityStatus, videoDetails: details });

  async function run(player: object, embedded: object = { ...first(ok), streamingData: { formats: [file] } }) {
    const http = createFakeHttp(({ url, body }) => {
      if (String(url).includes('/embed/'))
        return { body: '<script>{"encryptedHostFlags":"AD5ZflagsOfEmbed"}</script>' };
      if (!String(url).includes('/player')) return { status: 500 };
      return { body: String(body).includes('WEB_EMBEDDED_PLAYER') ? embedded : player };
    });
    const extractor = extractorOf(await setUpPlugin({ plugin: vidsite, http }));
    const result = await extractor.extract(callFor(extractor, ID)).catch((error: GatewayError) => error);
    return {
      result,
      asked: http.requests.filter(({ body }) => String(body).includes('WEB_EMBEDDED_PLAYER')),
      extractor,
    };
  }

  it('has the files of a public video if the first reply has none', async () => {
    for (const state of [ok, { status: 'UNPLAYABLE', playableInEmbed: true, reason: 'Not here' }]) {
      const { result, asked } = await run(first(state));
      expect('data' in result && 'media' in result.data && result.data.media.video_urls).to.deep.equal([file.url]);
      expect('limitations' in result && result.limitations).not.to.include.members(['sabr_only']);
      expect(JSON.parse(String(asked[0]?.body))).to.deep.include({
        playbackContext: { contentPlaybackContext: { encryptedHostFlags: 'AD5ZflagsOfEmbed' } },
      });
      expect(JSON.parse(String(asked[0]?.body)).context).to.deep.include({
        thirdParty: { embedUrl: 'https://www.example.com/' },
      });
      expect(asked[0]?.headers).to.include({ 'x-youtube-client-name': '56' });
    }
  });

  it('has the audio too', async () => {
    const { extractor } = await run(first(ok));
    const audio = await extractor.resolveAudio?.(callFor(extractor, ID));
    expect(audio?.url).to.equal(file.url);
  });

  const refused: readonly [what: string, player: object][] = [
    ['an age limit', first({ status: 'LOGIN_REQUIRED', playableInEmbed: true, reason: 'Sign in to confirm your age' })],
    ['a private video', first({ status: 'LOGIN_REQUIRED', playableInEmbed: true, reason: 'Private video' })],
    [
      'members',
      first({
        status: 'UNPLAYABLE',
        playableInEmbed: true,
        reason: 'Join this channel to get access to members-only content',
      }),
    ],
    ['a price', first({ status: 'UNPLAYABLE', playableInEmbed: true, reason: 'This video requires payment to watch' })],
    ['a login', first({ status: 'LOGIN_REQUIRED', playableInEmbed: true })],
    [
      'a check of the client',
      first({ status: 'LOGIN_REQUIRED', playableInEmbed: true, reason: 'Sign in to confirm you’re not a bot' }),
    ],
    ['an owner who forbids embedding', first({ status: 'OK', playableInEmbed: false })],
    ['nothing that says that it may be embedded', first({ status: 'OK' })],
    ['files of its own', { ...first(ok), streamingData: { formats: [file] } }],
  ];
  for (const [what, player] of refused) {
    it(`is not asked if the first reply has ${what}`, async () => {
      const { asked } = await run(player);
      expect(asked).to.deep.equal([]);
    });
  }
});

describe('vidsite: audio', () => {
  it('is fetched again with one request, of the original track', async () => {
    const { extractor, replay } = await setUp('innertube-2026');
    const source = await extractor.resolveAudio?.(callFor(extractor, 'Tugs0fOst3n'));
    expect(source).to.deep.include({ mime: 'audio/mp4', durationSeconds: 601.12 });
    expect(source?.url).to.include('itag=140');
    expect(replay.requests).to.have.length(1);
  });

  const refused: Readonly<Record<string, readonly [id: string, code: string]>> = {
    'live-2026': ['L1veNest_26', 'audio_unavailable'],
    upcoming: ['Up_c0ming26', 'audio_unavailable'],
    'sabr-only': ['Sabr0nly_16', 'audio_unavailable'],
    region: ['Regi0n__010', 'audio_unavailable'],
    private: ['Pr1vate_007', 'private'],
    'bot-check': ['B0tCheck_11', 'bot_check'],
    'other-video': ['An0ther__15', 'upstream_refused'],
  };
  for (const [sample, [id, code]] of Object.entries(refused)) {
    it(`is refused for ${sample} with ${code}`, async () => {
      const { extractor } = await setUp(sample);
      const outcome = await extractor.resolveAudio?.(callFor(extractor, id)).then(
        () => 'a source',
        (error: { code?: string }) => error.code,
      );
      expect(outcome).to.equal(code);
    });
  }
});
