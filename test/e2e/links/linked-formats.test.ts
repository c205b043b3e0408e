/** Links for yt-dlp and oEmbed with media links: what is bound or apart on the platform downloads and shows from here. */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type ListeningApp, startApp } from '../../http/http/listening-app.js';
import { JPEG, type MediaItem, startMediaOrigin } from '../../http/links/media-origin.js';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { type Clips, inspect, makeClips, SECONDS } from '../../support/links/video-clips.js';
import { until } from '../../support/until.js';

const GATEWAY = 'http://gateway.example';
/** Of the clips: a tenth of a second each. */
const FRAMES = SECONDS * 10;

/** The yt-dlp of this machine; undefined where there is none. */
const ytDlpPath = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'yt-dlp'))
  .find((file) => existsSync(file));

describe('a link in the formats of other programs, with media links', function () {
  this.timeout(120_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let clips: Clips;
  let key: string;
  let folder: string;

  before(async function () {
    if (!ffmpegPath) this.skip();
    clips = await makeClips();
    origin = await startMediaOrigin();
    app = await startApp({
      extractor: origin.extractor,
      mediaProxy: 'on',
      gateway: { mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)] }, services: { http: origin.http } },
    });
    key = await app.makeKey();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-linked-'));
  });

  after(async () => {
    await app?.close();
    await origin?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const bound: Pick<MediaItem['entries'][number], 'bound_to'> = { bound_to: ['ip'] };
  const tracks = (): MediaItem => ({
    title: 'Tugs',
    entries: [
      { kind: 'video', mime: 'video/mp4', codecs: 'avc1.42c00a', has_audio: false, width: 64, height: 48, ...bound },
      { kind: 'audio', mime: 'audio/mp4', codecs: 'mp4a.40.2', ...bound },
      { kind: 'image', width: 640, height: 360, ...bound },
    ],
    content: [clips.get('picture.mp4'), clips.get('sound.mp4'), JPEG],
  });
  const streamed = (): MediaItem => ({
    title: 'Tugs',
    entries: [{ kind: 'manifest', mime: 'application/vnd.apple.mpegurl', ...bound }],
    content: [clips.get('both.m3u8')],
    files: clips.matching(/^both\d\.ts$/),
  });
  const urlOf = (item: MediaItem) => `https://invented.example/item/${origin.put(item)}`;

  async function infoOf(item: MediaItem, more: object = {}) {
    const { status, text } = await app.request('/v1/extract?format=yt-dlp', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: urlOf(item), ...more }),
    });
    return { status, text: text.replaceAll(GATEWAY, app.url) };
  }

  const runYtDlp = (parameters: readonly string[]) =>
    promisify(execFile)(ytDlpPath ?? 'yt-dlp', ['--ignore-config', '--no-cache-dir', ...parameters], { cwd: folder });

  async function download(text: string, format: string): Promise<Buffer> {
    await writeFile(path.join(folder, 'info.json'), text);
    const parameters = ['--load-info-json', 'info.json', '--no-simulate', '--fixup', 'never', '--force-overwrites'];
    await runYtDlp([...parameters, '-f', format, '-o', 'video.%(ext)s']);
    return readFile(path.join(folder, 'video.mp4'));
  }

  const countOf = async (file: Uint8Array) => (await inspect(file)).map(({ type, packets }) => [type, packets]);

  // Where the program is installed, as Debian's Chromium.
  const itDownloads = ytDlpPath === undefined ? () => undefined : it;

  itDownloads('downloads separate tracks as one file, and each alone, without a program that merges', async () => {
    const { status, text } = await infoOf(tracks());
    expect(status, text).to.equal(200);
    expect(text).not.to.contain('media.invented.example');
    const [picture, sound] = await countOf(await download(text, 'b'));
    expect([picture, sound?.[0]]).to.deep.equal([['video', FRAMES], 'audio']);
    expect(await countOf(await download(text, 'bv'))).to.deep.equal([['video', FRAMES]]);
  });

  itDownloads('downloads a stream of parts, whose playlist names addresses of the platform', async () => {
    const { text } = await infoOf(streamed());
    expect(text).not.to.contain('media.invented.example');
    expect(JSON.parse(text).formats).to.have.length(1);
    expect((await countOf(await download(text, 'b'))).map(([type]) => type)).to.deep.equal(['video', 'audio']);
  });

  itDownloads('downloads the results of a batch as a playlist', async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ urls: [urlOf(tracks()), urlOf(streamed())] });
    const { json } = await app.request('/v1/extract/batches', { method: 'POST', headers, body });
    await until(async () => (await app.request(json.status_url, { headers })).json.status === 'completed', 100);
    const { text } = await app.request(`${json.results_url}?format=yt-dlp`, { headers });
    expect(text).not.to.contain('media.invented.example');
    await writeFile(path.join(folder, 'batch.json'), text.replaceAll(GATEWAY, app.url));
    const parameters = ['--no-clean-infojson', '--load-info-json', 'batch.json', '--no-simulate', '--fixup', 'never'];
    await runYtDlp([...parameters, '-f', 'b', '-o', '%(playlist_index)s.%(ext)s']);
    for (const name of ['1.mp4', '2.mp4']) {
      const tracksOf = await countOf(await readFile(path.join(folder, name)));
      expect(tracksOf.map(([type]) => type)).to.deep.equal(['video', 'audio']);
    }
  });

  it('has addresses of the platform if no links are wanted', async () => {
    const { text } = await infoOf(tracks(), { include_media_links: false });
    const { formats } = JSON.parse(text);
    expect(formats.map(({ url }: { url: string }) => new URL(url).host)).to.deep.equal([
      'media.invented.example',
      'media.invented.example',
    ]);
  });

  describe('oEmbed', () => {
    const embedOf = async (item: MediaItem) => {
      const { json } = await app.request(`/v1/oembed?url=${encodeURIComponent(urlOf(item))}`, {
        headers: { 'x-api-key': key },
      });
      return json;
    };
    const load = async (link: string) => fetch(link.replace(GATEWAY, app.url));

    it('shows the merged video of separate tracks, and its picture', async () => {
      const { type, html, width, height, thumbnail_url: thumbnail, cache_age: age } = await embedOf(tracks());
      expect([type, width, height]).to.deep.equal(['video', 64, 48]);
      const [, src = ''] = /^<video src="([^"]+)"/.exec(html) ?? [];
      expect(src).to.match(/^http:\/\/gateway\.example\/v1\/extract\/video\/.*\.mp4$/);
      const [picture, sound] = await countOf(Buffer.from(await (await load(src)).arrayBuffer()));
      expect([picture, sound?.[0]]).to.deep.equal([['video', FRAMES], 'audio']);
      expect((await load(thumbnail)).headers.get('content-type')).to.equal('image/jpeg');
      expect(age).to.be.within(5 * 3_600, 6 * 3_600);
    });

    it('shows a file and a picture that are bound', async () => {
      const whole = { kind: 'video', mime: 'video/mp4', has_audio: true, width: 64, height: 48, ...bound } as const;
      const video = await embedOf({ entries: [whole], content: [clips.get('whole.mp4')] });
      expect(video.html).to.match(/^<video src="http:\/\/gateway\.example\/v1\/media\//);
      const photo = await embedOf({ entries: [{ kind: 'image', width: 640, height: 360, ...bound }], content: [JPEG] });
      expect(photo).to.include({ type: 'photo', width: 640, height: 360 });
      expect((await load(photo.url)).status).to.equal(200);
    });
  });
});
