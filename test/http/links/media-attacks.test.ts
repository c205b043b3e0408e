/** Attacks on media links: many ranges, links of other accounts, hostile manifests, and names that clients write to disk. */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { readZip } from '../../support/links/read-zip.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { JPEG, type MediaItem, startMediaOrigin, videoOf } from './media-origin.js';

const VIDEO = { kind: 'video', mime: 'video/mp4', height: 720 } as const;
const GATEWAY = 'http://gateway.example';
const DASH = { kind: 'manifest', mime: 'application/dash+xml' } as const;
const run = promisify(execFile);

describe('attacks on media links', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    origin = await startMediaOrigin();
    app = await startApp({
      extractor: origin.extractor,
      mediaProxy: 'on',
      gateway: {
        mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)] },
        services: { http: origin.http },
      },
    });
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await origin?.close();
  });

  async function mediaOf(item: MediaItem) {
    const id = origin.put(item);
    const url = `https://invented.example/item/${id}`;
    const { json } = await app.extract(key, { url, include_media_links: true });
    return { id, media: json.data.media };
  }

  async function linkOf(content: MediaItem['content'][number], more: Partial<MediaItem> = {}) {
    const { media } = await mediaOf({ entries: [VIDEO], content: [content], ...more });
    return (media.entries[0].proxy_url as string).replace(GATEWAY, '');
  }

  async function load(target: string, headers: Record<string, string> = {}) {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(app.url + target, { headers }, resolve).once('error', reject),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  }

  const codeOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()).error.code as string;

  describe('by ranges', () => {
    it('of which there are a thousand in one request get the file once', async () => {
      const content = videoOf(200_000);
      const link = await linkOf(content);
      const overlapping = Array.from({ length: 1_000 }, () => '0-');
      const single = Array.from({ length: 1_000 }, (_, index) => `${index * 2}-${index * 2}`);
      const suffixes = Array.from({ length: 1_000 }, (_, index) => `-${index + 1}`);
      origin.requests.length = 0;
      for (const ranges of [overlapping, single, suffixes]) {
        const { status, headers, body } = await load(link, { range: `bytes=${ranges.join(',')}` });
        expect([status, headers['content-type']]).to.deep.equal([200, 'video/mp4']);
        expect(body.equals(content)).to.equal(true);
      }
      expect(origin.requests.length).to.equal(3);
    });

    it('that are no ranges get the whole file, or are refused, and never a part that was not asked for', async () => {
      const content = videoOf(5_000);
      const link = await linkOf(content, { entries: [{ ...VIDEO, height: 360 }] });
      const cases: [string, number][] = [
        ['bytes=5000-', 416],
        ['bytes=99999999999999999999-', 416],
        ['bytes=-0', 416],
        ['bytes=4999-99999999999999999999', 206],
        ['bytes=9-1', 200],
        ['items=0-1', 200],
        ['bytes=0x0-0x9', 200],
        ['bytes=', 200],
      ];
      for (const [range, expected] of cases) {
        const { status, body } = await load(link, { range });
        expect(status, range).to.equal(expected);
        if (expected === 200) expect(body.equals(content), range).to.equal(true);
      }
    });

    it('in a thousand requests cost no more than the link may give', async () => {
      const link = await linkOf(videoOf(2 * 1024 * 1024));
      let given = 0;
      let isRefused = false;
      for (let count = 0; count < 1_000 && !isRefused; count += 1) {
        // The last one is cut off where the link may give no more.
        const answer = await load(link, { range: `bytes=${count}-` }).catch(() => undefined);
        isRefused = answer?.status === 429;
        if (answer && !isRefused) given += answer.body.length;
      }
      expect(isRefused).to.equal(true);
      expect(given).to.be.at.most(3 * 2 * 1024 * 1024);
    });
  });

  describe('by links of another account', () => {
    it('are refused with its jobs, and change nothing that a link was made for', async () => {
      const other = await app.makeKey({}, { accountId: 'other' });
      const id = origin.put({ entries: [VIDEO], content: [videoOf(1_000)] });
      const url = `https://invented.example/item/${id}`;
      const started = await app.extract(key, { url, background: true, include_media_links: true });
      const job = started.json.data.job.job_id as string;
      await app.ended(key, job);
      const poll = (secret: string) => {
        const headers = { authorization: `Bearer ${secret}` };
        return app.request(`/v1/extract/jobs/${job}?include_media_links=true`, { headers });
      };
      expect((await poll(key)).text).to.include('/v1/media/');
      const refused = await poll(other);
      expect([refused.status, refused.text.includes('/v1/media/')]).to.deep.equal([404, false]);
      // A link names the key that it was made for: it cannot be made one of another key.
      const mine = (await mediaOf({ entries: [VIDEO], content: [videoOf(1_000)] })).media.entries[0]
        .proxy_url as string;
      const theirs = await app.extract(other, { url, include_media_links: true });
      const [one, two] = [mine, theirs.json.data.media.entries[0].proxy_url as string].map((link) => {
        return link.split('/').at(-1) ?? '';
      });
      const half = Math.floor((one?.length ?? 0) / 2);
      for (const mixed of [`${one?.slice(0, half)}${two?.slice(half)}`, `${two?.slice(0, half)}${one?.slice(half)}`]) {
        expect(codeOf(await load(`/v1/media/${mixed}`))).to.equal('file_not_found');
      }
    });
  });

  describe('by DASH manifests', () => {
    const mpd = (content: string, more = '') =>
      `<MPD mediaPresentationDuration="PT8S">${more}<Period><AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="9">${content}</Representation></AdaptationSet></Period></MPD>`;

    it('never open what they name elsewhere', async function () {
      if (!ffmpegPath) this.skip();
      const addresses = [
        'file:///etc/passwd',
        'https://127.0.0.1/x',
        'https://evil.example/x',
        'http://[::1]/x',
        'data:,x',
      ];
      const manifests = addresses.flatMap((address) => [
        mpd(`<SegmentTemplate duration="2" media="${address}?$Number$" initialization="a"/>`),
        mpd(`<SegmentTemplate duration="2" media="a" initialization="${address}"/>`),
        mpd(`<SegmentList duration="2"><Initialization sourceURL="${address}"/><SegmentURL media="b"/></SegmentList>`),
        mpd(`<SegmentList duration="2"><SegmentURL media="${address}"/></SegmentList>`),
        mpd('<SegmentTemplate duration="2" media="$Number$"/>', `<BaseURL>${address}/</BaseURL>`),
        mpd(`<SegmentTemplate duration="2" media="${address.replace('x', '$RepresentationID$')}"/>`),
      ]);
      origin.hosts.length = 0;
      for (const manifest of manifests) {
        const { media } = await mediaOf({ entries: [DASH], content: [Buffer.from(manifest)] });
        const answer = await load((media.video_download_links.mp4 as string).replace(GATEWAY, ''));
        expect([answer.status, codeOf(answer)], manifest).to.deep.equal([502, 'media_unavailable']);
      }
      expect([...new Set(origin.hosts)]).to.deep.equal(['media.invented.example']);
    });

    it('never follow entities, other documents or keys, and end with lists that are too long', async function () {
      if (!ffmpegPath) this.skip();
      const bomb = `<!DOCTYPE x [<!ENTITY a "${'b'.repeat(1_000)}"><!ENTITY c "${'&a;'.repeat(1_000)}">]>`;
      const list = '<SegmentTemplate duration="2" media="$Number$"/>';
      for (const manifest of [
        `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>${mpd('<BaseURL>&a;</BaseURL>')}`,
        `${bomb}${mpd('<BaseURL>&c;</BaseURL>')}`,
        mpd(list).replace('<Period>', '<Period xlink:href="https://127.0.0.1/period" xlink:actuate="onLoad">'),
        mpd(`<ContentProtection schemeIdUri="urn:mpeg:dash:mp4protection:2011"/>${list}`),
        mpd('<SegmentTemplate duration="2" media="$Number$" timescale="1000000000"/>'),
        mpd(
          '<SegmentTemplate media="$Time$"><SegmentTimeline><S d="1" r="999999999"/></SegmentTimeline></SegmentTemplate>',
        ),
        '<MPD>'.repeat(50_000),
      ]) {
        const { media } = await mediaOf({ entries: [DASH], content: [Buffer.from(manifest)] });
        const began = performance.now();
        const answer = await load((media.video_download_links.mp4 as string).replace(GATEWAY, ''));
        expect([answer.status, codeOf(answer)], manifest.slice(0, 200)).to.deep.equal([502, 'media_unavailable']);
        expect(performance.now() - began).to.be.below(20_000);
      }
      expect(origin.hosts).not.to.include('127.0.0.1');
    });
  });

  describe('by names', () => {
    const emojis = '😀'.repeat(300);
    let folder: string;

    beforeEach(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'mediagate-names-'));
    });

    afterEach(() => rm(folder, { recursive: true, force: true }));

    async function renewFolder(): Promise<void> {
      await rm(folder, { recursive: true, force: true });
      folder = await mkdtemp(path.join(tmpdir(), 'mediagate-names-'));
    }

    /** Names of the files that a client wrote, or undefined if it is not installed. */
    async function written(command: string, parameters: string[], content: Buffer): Promise<string[] | undefined> {
      try {
        await run(command, parameters, { cwd: folder, env: { ...process.env, LC_ALL: 'C.UTF-8' } });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
      // Some clients cut names in the middle of a letter.
      const names = await readdir(folder, { encoding: 'buffer' });
      for (const name of names) {
        const file = Buffer.concat([Buffer.from(`${folder}/`), name]);
        expect((await readFile(file)).equals(content), name.toString()).to.equal(true);
      }
      return names.map(String);
    }

    it('of 300 emojis are saved by curl and wget', async () => {
      const content = videoOf(3_000);
      const link = `${app.url}${await linkOf(content, { title: emojis })}?download=1`;
      const byCurl = await written('curl', ['-sSOJ', '--fail', link], content);
      if (byCurl) expect(byCurl.join('/')).to.match(/^invented-\d+\.mp4$/);
      await renewFolder();
      const byWget = await written('wget', ['-q', '--content-disposition', link], content);
      if (byWget) expect(byWget).to.deep.equal([`${'😀'.repeat(35)}.mp4`]);
    });

    it('never leave the folder, add headers, or end as another kind of file', async () => {
      const content = videoOf(3_000);
      const titles = [
        '../../../../etc/cron.d/x',
        '..\\..\\x',
        '/etc/passwd',
        '.bashrc',
        '"; filename="x.html',
        'x.html\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>',
        'gpj.exe\u202e',
        '%2e%2e%2fx',
        '\ud800\udc00\udfff',
        '~/x',
        '-rf',
      ];
      for (const title of titles) {
        const link = await linkOf(content, { title });
        const { headers, body } = await load(`${link}?download=1`);
        expect(body.equals(content), title).to.equal(true);
        expect(headers['content-type'], title).to.equal('video/mp4');
        const disposition = headers['content-disposition'] ?? '';
        const [, fallback = '', encoded] =
          /^attachment; filename="([^"]*)"(?:; filename\*=UTF-8''(\S+))?$/.exec(disposition) ?? [];
        for (const name of [fallback, decodeURIComponent(encoded ?? fallback)]) {
          expect(name, disposition).to.match(/^[^./\\"\r\n\0\u202e][^/\\"\r\n\0\u202e]*\.mp4$/u);
        }
        await renewFolder();
        const byWget = await written('wget', ['-q', '--content-disposition', `${app.url}${link}?download=1`], content);
        if (byWget) expect(byWget, title).to.have.lengthOf(1);
      }
    });

    it('are safe in archives as well', async () => {
      const { media } = await mediaOf({
        entries: [{ kind: 'image' }, { kind: 'image' }],
        content: [JPEG, JPEG],
        title: '../../x/../..\\y',
        extraction: { carousel: true },
      });
      const link = (media.download_links.archive as string).replace(GATEWAY, '');
      const { body } = await load(link);
      expect(readZip(body).map(({ name }) => name)).to.deep.equal(['x .. .. y 01.jpg', 'x .. .. y 02.jpg']);
    });
  });
});
