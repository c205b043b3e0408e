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
  it('are three where all goes well, and the page is not fetched', async () => {
    const { extractor, replay } = await setUp('innertube-2026');
    await extractor.extract(callFor(extractor, 'Tugs0fOst3n'));
    expect(replay.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).to.have.members([
      'POST /youtubei/v1/player',
      'POST /youtubei/v1/player',
      'POST /youtubei/v1/next',
    ]);
  });

  it('say who asks, for what, in which language and market', async () => {
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
      context: { client: { clientName: 'VISIONOS', clientVersion: '1.02', hl: 'nl', gl: 'BE' } },
      videoId: 'Tugs0fOst3n',
      contentCheckOk: true,
      racyCheckOk: true,
    });
  });

  it('end after the API where two of its answers agree that an item is gone', async () => {
    const { extractor, replay } = await setUp('removed');
    await extractor.extract(callFor(extractor, 'Rem0ved__08')).catch(() => {});
    expect(replay.requests.map(({ url }) => new URL(url).pathname)).to.not.include('/watch');
  });

  it('wait as long as the API says where it limits them, in seconds or as a date', async () => {
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
