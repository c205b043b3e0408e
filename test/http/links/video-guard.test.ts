/** Videos of manifests that name private addresses on a host that the platform allows: the address guard refuses them. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const GATEWAY = 'http://gateway.example';

describe('videos behind the address guard', function () {
  this.timeout(60_000);
  let app: ListeningApp;
  /** The only origin that the operator trusts. */
  let trusted: OriginServer;
  /** On the same host, which the platform allows. */
  let inner: OriginServer;
  let key: string;
  let answer = '';
  const asked: string[] = [];
  const blocked = new Set<string>();

  before(async function () {
    if (!ffmpegPath) this.skip();
    inner = await startOrigin((_request, response) => response.end('secret'));
    trusted = await startOrigin(({ url = '' }, response) => {
      asked.push(url);
      if (url.startsWith('/moved')) {
        response.writeHead(302, { location: `https://127.0.0.1:${inner.port}/moved` }).end();
      } else response.end(answer);
    });
    const url = `${trusted.origin}/list.m3u8`;
    app = await startApp({
      mediaProxy: 'on',
      extractor: {
        mediaHosts: ['127.0.0.1'],
        extract: async ({ link: { id } }) => {
          const plain = inventedExtraction(id);
          if ('product' in plain.data) throw new Error('the invented platform has no products');
          const manifest = { url, kind: 'manifest', mime: 'application/vnd.apple.mpegurl' } as const;
          return { ...plain, data: { ...plain.data, media: { ...plain.data.media, entries: [manifest] } } };
        },
      },
      gateway: {
        trustedOrigins: [trusted.origin],
        mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)] },
        // The real client, with its guard.
        services: { http: undefined as never, isBlocked: (item) => blocked.has(item) },
      },
    });
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await trusted?.close();
    await inner?.close();
  });

  async function codeOf(playlist: string): Promise<string> {
    answer = playlist;
    const { json } = await app.extract(key, { url: 'https://invented.example/item/7', include_media_links: true });
    const link = json.data.media.video_download_links.mp4.replace(GATEWAY, '') as string;
    return (await app.request(link)).json.error.code as string;
  }

  it('are refused without a connection', async () => {
    const segments = (...lines: string[]) => ['#EXTM3U', ...lines, '#EXT-X-ENDLIST'].join('\n');
    for (const address of [`https://127.0.0.1:${inner.port}/x`, '/moved/x']) {
      for (const playlist of [
        segments('#EXTINF:1,', address),
        segments(`#EXT-X-MAP:URI="${address}"`, '#EXTINF:1,', 'a.ts'),
        segments(`#EXT-X-KEY:METHOD=AES-128,URI="${address}"`, '#EXTINF:1,', 'a.ts'),
        `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${address}`,
      ]) {
        expect(await codeOf(playlist), playlist).to.equal('media_unavailable');
      }
    }
    expect(asked).to.include('/moved/x');
    expect(inner.connections).to.equal(0);
  });

  it('are refused while the operator blocks the item', async () => {
    answer = '';
    const { json } = await app.extract(key, { url: 'https://invented.example/item/7', include_media_links: true });
    const link = json.data.media.video_download_links.mp4.replace(GATEWAY, '') as string;
    blocked.add('https://invented.example/item/7');
    const { status, json: refusal } = await app.request(link);
    expect([status, refusal.error.code]).to.deep.equal([451, 'link_blocked']);
  });
});
