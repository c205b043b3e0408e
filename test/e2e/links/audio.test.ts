/** MP3 files of a running gateway, from the link to the file. */

import { mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { mp3Seconds } from '../../support/audio/mp3-length.js';
import {
  type ProxyAnswer,
  type ProxyRequest,
  type ReplayingProxy,
  startReplayingProxy,
} from '../../support/links/replaying-proxy.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { variants } from '../../support/runner/variants.js';

const SOUNDING = linkSamples.filter(({ name }) => ['desktop-2026', 'relay-2026'].includes(name));
const VIDEO = 'https://www.youtube.com/watch?v=Tugs0fOst3n';
const VIDEO_SECONDS = 120;
const MEDIA_HOST = /\.(googlevideo|tiktok|tiktokcdn|tiktokcdn-us|tiktokv|fbcdn|cdninstagram)\.(com|net)$/;
const FROM_PAGES = answersFromSamples(linkSamples);

describe('MP3 files through the real process', () => {
  let folder: string;
  let dataFolder: string;
  let proxy: ReplayingProxy;
  let gateway: GatewayProcess;
  let key: string;

  before(async function () {
    if (!ffmpegPath) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-e2e-audio-'));
    dataFolder = path.join(folder, 'data');
    proxy = await startReplayingProxy({ answer: FROM_PAGES });
    gateway = await start();
    ({ key } = await gateway.makeKey());
  });

  after(async () => {
    await gateway?.kill();
    await proxy?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const start = () =>
    startGatewayProcess({ proxy, dataFolder, environment: { ...(ffmpegPath && { FFMPEG_PATH: ffmpegPath }) } });

  /** Platforms answer from their samples, media hosts with this. */
  function serve(media: (request: ProxyRequest) => ProxyAnswer): void {
    proxy.setAnswer((request) => {
      const isMedia = MEDIA_HOST.test(request.url.hostname) && !/^(www|m)\./.test(request.url.hostname);
      return isMedia ? media(request) : shortened(FROM_PAGES(request));
    });
  }

  async function soundOf(seconds: number): Promise<Buffer> {
    const file = path.join(folder, `${seconds}.m4a`);
    await runFfmpeg(...tone(seconds), '-ar', '16000', '-c:a', 'aac', '-b:a', '24k', file);
    return readFile(file);
  }

  async function linkOf(url: string): Promise<{ target: string; seconds: number }> {
    const { json } = await gateway.extract(key, { url });
    const { mp3 } = json.data.media.audio_download_links;
    expect(mp3, JSON.stringify(json.limitations)).to.match(/\.mp3$/);
    expect(json.data.media.download_links.mp3).to.equal(mp3);
    return { target: new URL(mp3).pathname, seconds: json.data.common.duration_seconds };
  }

  for (const { platform, url } of variants(SOUNDING, (one) => one === SOUNDING[0])) {
    it(`${platform}: extract the item, return a link and open the MP3`, async () => {
      serve(() => ({ status: 404 }));
      const { target, seconds } = await linkOf(url);
      const sound = await soundOf(seconds);
      serve(() => ({ body: sound }));
      const answer = await fetch(gateway.url + target);
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(answer.status, bytes.toString('utf8', 0, 300)).to.equal(200);
      expect(mp3Seconds(bytes)).to.be.closeTo(seconds, 0.5);
    });
  }

  it('vidsite: leave no partial file when the process is killed, and are fetched in ranges afterwards', async () => {
    serve(() => ({ status: 404 }));
    const { target } = await linkOf(VIDEO);
    const sound = await soundOf(VIDEO_SECONDS);
    serve(({ headers }) => {
      const [, first = '0', last = '0'] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
      const part = sound.subarray(Number(first), Number(last) + 1);
      const contentRange = `bytes ${first}-${Number(first) + part.length - 1}/${sound.length}`;
      return { status: 206, headers: { 'content-range': contentRange }, body: part };
    });
    const cut = await fetch(gateway.url + target);
    const reader = cut.body?.getReader();
    expect((await reader?.read())?.value?.byteLength, 'bytes before it is whole').to.be.above(0);
    await gateway.kill();
    await reader?.read().catch(() => undefined);

    const scratch = path.join(dataFolder, 'scratch');
    const [left = ''] = await readdir(scratch);
    expect(left).to.match(/^mediagate-scratch-/);
    await utimes(path.join(scratch, left), new Date(0), new Date(0));
    gateway = await start();
    const head = await gateway.request(target, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, null]);

    const answer = await fetch(gateway.url + target);
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(mp3Seconds(bytes)).to.be.closeTo(VIDEO_SECONDS, 0.5);
    const media = proxy.requests.filter(({ url }) => url.hostname.endsWith('.googlevideo.com'));
    expect(new Set(media.map(({ headers }) => headers.range))).to.deep.equal(new Set(['bytes=0-10485759']));
    const stored = await gateway.request(target, { headers: { range: 'bytes=-10' } });
    expect(stored.headers.get('content-range')).to.equal(
      `bytes ${bytes.length - 10}-${bytes.length - 1}/${bytes.length}`,
    );
    expect(await readdir(scratch)).to.not.include(left);

    // What is stored outlives the process.
    expect(await gateway.stop()).to.equal(0);
    gateway = await start();
    const again = await fetch(gateway.url + target);
    expect(again.headers.get('content-length')).to.equal(String(bytes.length));
    expect(Buffer.from(await again.arrayBuffer()).equals(bytes)).to.equal(true);
  });
});

/** The video of the sample goes on for ten minutes, which is long to convert for a test. */
async function shortened(answer: ProxyAnswer | Promise<ProxyAnswer>): Promise<ProxyAnswer> {
  const { body, ...rest } = await answer;
  if (!(body instanceof Uint8Array)) return { ...rest, ...(body !== undefined && { body }) };
  const text = Buffer.from(body).toString('utf8');
  return { ...rest, body: text.replace(/("approxDurationMs": ?)"\d+"/g, `$1"${VIDEO_SECONDS * 1000}"`) };
}
