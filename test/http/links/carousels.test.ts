/** Subtitles and archives by media links: formats, what is never passed on, and archives that break off visibly. */

import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { readZip } from '../../support/links/read-zip.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { JPEG, type MediaItem, startMediaOrigin, videoOf } from './media-origin.js';

const GATEWAY = 'http://gateway.example';
const SUBRIP = '1\n00:00:01,000 --> 00:00:02,500\nThe gates <i>are</i> open\n';
const PICTURES = { entries: [{ kind: 'image' }, { kind: 'image' }, { kind: 'image', label: 'cover' }] } as const;

describe('media links of subtitles and carousels', function () {
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
    await app.close();
    await origin.close();
  });

  async function mediaOf(item: MediaItem, byKey = key) {
    const id = origin.put(item);
    const url = `https://invented.example/item/${id}`;
    const { json } = await app.extract(byKey, { url, include_media_links: true });
    return { id, media: json.data.media };
  }

  async function subtitlesOf(content: MediaItem['content'][number], language?: string) {
    const entry = { kind: 'subtitle', ...(language && { language }) } as const;
    const { media } = await mediaOf({ entries: [entry], content: [content], title: 'Gates' });
    return media.entries[0].subtitle_urls as Record<'vtt' | 'srt' | 'txt', string>;
  }

  async function archiveOf(item: Partial<MediaItem> & Pick<MediaItem, 'content'>): Promise<string> {
    const carousel = { ...PICTURES, title: 'Gates', extraction: { carousel: true } };
    return (await mediaOf({ ...carousel, ...item })).media.download_links.archive;
  }

  async function load(link: string) {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(app.url + link.replace(GATEWAY, ''), resolve).once('error', reject),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  }

  const codeOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()).error.code as string;

  describe('subtitles', () => {
    it('are the same track in three formats, as files that nothing can run in', async () => {
      const links = await subtitlesOf(Buffer.from(SUBRIP), 'en');
      const expected = {
        vtt: ['text/vtt; charset=utf-8', 'WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nThe gates are open\n\n'],
        srt: ['application/x-subrip; charset=utf-8', '1\n00:00:01,000 --> 00:00:02,500\nThe gates are open\n\n'],
        txt: ['text/plain; charset=utf-8', 'The gates are open\n'],
      } as const;
      for (const format of ['vtt', 'srt', 'txt'] as const) {
        const { status, headers, body } = await load(links[format]);
        expect([status, headers['content-type'], body.toString()]).to.deep.equal([200, ...expected[format]]);
        expect(headers).to.include({
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; sandbox",
          'x-robots-tag': 'noindex',
          'access-control-allow-origin': '*',
        });
        expect(headers['content-disposition']).to.include(`Gates.en.${format}`);
      }
    });

    it('need no length of the platform, and one new address if theirs has expired', async () => {
      let answers = 0;
      const links = await subtitlesOf((_request, response) => {
        answers += 1;
        if (answers === 1) response.writeHead(403).end();
        else response.writeHead(200, { 'transfer-encoding': 'chunked' }).end(SUBRIP);
      });
      expect((await load(links.txt)).body.toString()).to.equal('The gates are open\n');
      const whole = links.txt.replace('/extract/subtitles/', '/media/').replace('.txt', '');
      expect((await load(whole)).body.toString()).to.equal(SUBRIP);
    });

    it('are refused if the platform sends something else, too much, or nothing more', async () => {
      const contents = [
        Buffer.from('<!doctype html><script>alert(1)</script>'),
        Buffer.from('alert(document.cookie)'),
        Buffer.alloc(4 * 1024 * 1024 + 10, ' '),
      ];
      for (const content of contents) {
        const answer = await load((await subtitlesOf(content)).vtt);
        expect([answer.status, codeOf(answer)]).to.deep.equal([502, 'media_unavailable']);
      }
      const refusing = await subtitlesOf((_request, response) => response.writeHead(404).end());
      expect(codeOf(await load(refusing.vtt))).to.equal('media_unavailable');
      const elsewhere = await subtitlesOf((_request, response) =>
        response.writeHead(302, { location: 'https://127.0.0.1/x' }).end(),
      );
      expect(codeOf(await load(elsewhere.vtt))).to.equal('media_unavailable');
      expect(origin.hosts).not.to.include('127.0.0.1');
    });

    it('are only made of subtitles', async () => {
      const { media } = await mediaOf({ entries: [{ kind: 'image' }], content: [JPEG] });
      expect(media.entries[0]).not.to.have.property('subtitle_urls');
      const forged = `${media.entries[0].proxy_url.replace('/media/', '/extract/subtitles/')}.vtt`;
      const answer = await load(forged);
      expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'file_not_found']);
    });
  });

  describe('an archive', () => {
    it('has all pictures and videos of a carousel, under safe names', async () => {
      const video = videoOf(300_000);
      const link = await archiveOf({
        entries: [...PICTURES.entries, { kind: 'video' }],
        content: [JPEG, JPEG, JPEG, video],
        title: '../../etc/\u0000pass\r\nwd\u202e: "CON"',
      });
      expect(link).to.match(/^http:\/\/gateway\.example\/v1\/extract\/archive\/[\w-]+\.zip$/);
      const { status, headers, body } = await load(link);
      expect([status, headers['content-type']]).to.deep.equal([200, 'application/zip']);
      expect(headers['content-disposition']).to.match(/^attachment; /);
      const files = readZip(body);
      const title = 'etc pass wd CON';
      expect(files.map(({ name }) => name)).to.deep.equal([`${title} 01.jpg`, `${title} 02.jpg`, `${title} 03.mp4`]);
      expect(files[2]?.content.equals(video)).to.equal(true);
    });

    it('is offered for carousels alone', async () => {
      const { media } = await mediaOf({ ...PICTURES, content: [JPEG, JPEG, JPEG] });
      expect(media.download_links).not.to.have.property('archive');
      const name = media.entries[0].proxy_url.split('/').at(-1);
      const answer = await load(`/v1/extract/archive/${name}.zip`);
      expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'file_not_found']);
    });

    it('is cut off if a later file fails, and an error if the first one does', async () => {
      const refuse = (_request: unknown, response: { writeHead(status: number): { end(): void } }) =>
        response.writeHead(403).end();
      const later = await load(await archiveOf({ content: [JPEG, refuse as never, JPEG] })).catch((error) => error);
      expect(later).to.be.an('error');
      const first = await load(await archiveOf({ content: [refuse as never, JPEG, JPEG] }));
      expect([first.status, codeOf(first)]).to.deep.equal([502, 'media_unavailable']);
      const page = await load(
        await archiveOf({ content: [JPEG, Buffer.from('<!doctype html><script>alert(1)</script>'), JPEG] }),
      ).catch((error) => error);
      expect(page).to.be.an('error');
    });

    it('is sent three times', async () => {
      const link = await archiveOf({ content: [videoOf(600_000), videoOf(600_000), JPEG] });
      for (let time = 0; time < 3; time += 1) readZip((await load(link)).body);
      const fourth = await load(link);
      expect([fourth.status, codeOf(fourth)]).to.deep.equal([429, 'rate_limit_exceeded']);
    });
  });
});
