/** References of an image request: data URIs and fetched images. */

import type { RequestListener } from 'node:http';
import tls from 'node:tls';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { type Reference, References } from '../../../core/images/references.js';
import { ImageFiles } from '../../../core/media/image-file.js';
import { createAddressGuard } from '../../../core/net/egress.js';
import { createHttpTransport, type HttpTransport } from '../../../core/net/http-client.js';
import { GatewayError, isGatewayError } from '../../../core/runtime/errors.js';
import { type CertificateAuthority, createCertificateAuthority } from '../../support/http/certificates.js';
import { blackPng, plainWebp, stripes } from '../../support/images/images.js';
import { type Canary, startCanary } from '../../support/links/live-probe.js';
import { type OriginServer, startSecureOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

const MIB = 1024 * 1024;
const AMPLE_MS = 20_000;
const { signal } = new AbortController();
const images = new ImageFiles();
const uriOf = (bytes: Uint8Array, label = 'image/png') =>
  `data:${label};base64,${Buffer.from(bytes).toString('base64')}`;

describe('references of an image request', () => {
  let authority: CertificateAuthority;
  let canary: Canary;
  let picture: Buffer;
  let transport: HttpTransport;
  let server: OriginServer;
  let origin: string;
  let answer: RequestListener;
  let references: References;
  const trusted = tls.getCACertificates('default');

  before(async () => {
    authority = await createCertificateAuthority();
    tls.setDefaultCACertificates([...trusted, authority.pem]);
    canary = await startCanary();
    picture = await stripes(300, 200).png().toBuffer();
  });

  after(async () => {
    tls.setDefaultCACertificates(trusted);
    await canary.close();
  });

  beforeEach(async () => {
    server = await startSecureOrigin(authority.contextFor, (request, response) => answer(request, response));
    origin = `https://localhost:${server.port}`;
    transport = createHttpTransport({
      guard: createAddressGuard({ resolve: async () => ['127.0.0.1'] }),
    });
    references = open();
  });

  afterEach(async () => {
    await transport.close();
    await server.close();
  });

  function open(timeoutMs = AMPLE_MS): References {
    const trustedOrigins = [origin];
    return new References({ http: transport.scoped({ timeoutMs, trustedOrigins }), images, trustedOrigins });
  }

  async function checked(...values: readonly string[]): Promise<Reference[]> {
    return references.check(values.map((value, index) => ({ value, param: `image[${index}]` })));
  }

  async function refusal(work: Promise<unknown>): Promise<Pick<GatewayError, 'code' | 'param' | 'retryable'>> {
    const error = await rejection(work);
    if (!isGatewayError(error)) throw error;
    const { code, param, retryable } = error;
    return { code, param, retryable };
  }

  describe('before a request is accepted', () => {
    it('are data URIs by their bytes, in their order, with repetitions', async () => {
      const jpeg = await stripes(30, 20).jpeg().toBuffer();
      const found = await checked(uriOf(jpeg, 'image/png'), 'https://a.example/b.png?c=d', uriOf(picture), uriOf(jpeg));
      expect(found).to.deep.equal([
        { param: 'image[0]', media: { bytes: jpeg, contentType: 'image/jpeg' } },
        { param: 'image[1]', url: 'https://a.example/b.png?c=d' },
        { param: 'image[2]', media: { bytes: picture, contentType: 'image/png' } },
        { param: 'image[3]', media: { bytes: jpeg, contentType: 'image/jpeg' } },
      ]);
      expect(await checked()).to.deep.equal([]);
    });

    it('are at most four', async () => {
      const url = 'https://a.example/b.png';
      expect(await checked(url, url, url, url)).to.have.length(4);
      expect(await refusal(checked(url, url, url, url, 'not looked at'))).to.deep.equal({
        code: 'too_many_images',
        param: 'image[4]',
        retryable: false,
      });
    });

    it('are refused by their visible part, and the wrong field is named', async () => {
      const large = Buffer.concat([picture, Buffer.alloc(10 * MIB)]);
      const cases: readonly (readonly [string, string])[] = [
        ['invalid_base64_image', 'data:image/png;base64,%%%'],
        ['invalid_base64_image', 'data:image/png,abc'],
        ['unsupported_image_media_type', uriOf(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
        ['unsupported_image_media_type', uriOf(Buffer.alloc(0))],
        ['invalid_image', uriOf(picture.subarray(0, 20))],
        ['image_too_large', uriOf(plainWebp(12_000, 12_000))],
        ['image_file_too_large', uriOf(large)],
      ];
      for (const [code, value] of cases) {
        const expected = { code, param: 'image[1]', retryable: false };
        expect(await refusal(checked('https://a.example/', value)), value.slice(0, 60)).to.deep.equal(expected);
      }
    });

    it('may be only https URLs of the public Internet', async () => {
      const wrong = [
        'http://a.example/b.png',
        'file:///etc/passwd',
        'ftp://a.example/b.png',
        'javascript:alert(1)',
        'blob:https://a.example/1',
        '//a.example/b.png',
        '/b.png',
        '',
        'iVBORw0KGgo=',
        'https://user@a.example/',
        'https://user:word@a.example/',
        'https://a.example:8443/',
        'https://localhost/',
        'https://a.localhost/',
        'https://intranet/',
        'https://127.0.0.1/',
        'https://127.1/',
        'https://0x7f000001/',
        'https://10.0.0.1/',
        'https://169.254.169.254/latest/meta-data/',
        'https://[::1]/',
        'https://[::ffff:127.0.0.1]/',
        `https://a.example/${'b'.repeat(9000)}`,
      ];
      for (const url of wrong) {
        const expected = { code: 'invalid_image_url', param: 'image[0]', retryable: false };
        expect(await refusal(checked(url)), url).to.deep.equal(expected);
      }
      expect(await checked('https://93.184.216.34/a.png', `${origin}/vouched-for`)).to.have.length(2);
      expect(server.connections).to.equal(0);
    });

    it('do not block the event loop', async () => {
      let turns = 0;
      const timer = setInterval(() => {}, 0);
      const count = () => {
        turns += 1;
        counting = setImmediate(count);
      };
      let counting = setImmediate(count);
      const bytes = Buffer.concat([picture, Buffer.alloc(10 * MIB - picture.length)]);
      await checked(uriOf(bytes), uriOf(bytes), uriOf(bytes), uriOf(bytes));
      clearImmediate(counting);
      clearInterval(timer);
      expect(turns).to.be.at.least(3);
    });
  });

  describe('inside the job', () => {
    const load = async (...values: readonly string[]) => references.load(await checked(...values), signal);

    it('are fetched anonymously, and normalized', async () => {
      let seen: RequestListener extends (request: infer Request, ...rest: never[]) => void ? Request : never;
      answer = (request, response) => {
        seen = request;
        response.setHeader('content-type', 'text/html').end(picture);
      };
      const [media] = await load(`${origin}/a/b.png?c=d#e`);
      expect(media?.contentType).to.equal('image/png');
      expect(await sharp(media?.bytes).metadata()).to.include({ width: 300, height: 200 });
      expect(seen!.url).to.equal('/a/b.png?c=d');
      expect(seen!.headers).to.include({ accept: 'image/*', 'accept-encoding': 'identity' });
      expect(seen!.headers).to.not.have.any.keys('cookie', 'authorization', 'referer');
    });

    it('keep their order when they arrive in another', async () => {
      answer = async (request, response) => {
        const width = Number(request.url?.slice(1));
        if (width === 10) await new Promise((resolve) => setTimeout(resolve, 50));
        response.end(await stripes(width, 10).png().toBuffer());
      };
      const media = await load(
        `${origin}/10`,
        uriOf(await stripes(20, 10).webp().toBuffer()),
        `${origin}/30`,
        `${origin}/10`,
      );
      const widths = await Promise.all(media.map(async ({ bytes }) => (await sharp(bytes).metadata()).width));
      expect(widths).to.deep.equal([10, 20, 30, 10]);
    });

    it('are followed over three redirects, each checked anew', async () => {
      answer = (request, response) => {
        const hops = Number(request.url?.slice(1));
        if (hops === 0) response.end(picture);
        else response.writeHead(302, { location: `/${hops - 1}` }).end();
      };
      expect(await load(`${origin}/3`)).to.have.length(1);
      expect(await refusal(load(`${origin}/4`))).to.include({ code: 'failed_to_download_image', param: 'image[0]' });

      const secure = canary.origins.map((place) => place.replace('http:', 'https:'));
      for (const location of [
        ...canary.origins,
        ...secure,
        'https://rebound.example/',
        'file:///etc/passwd',
        'http://a.example/',
      ]) {
        answer = (_request, response) => response.writeHead(307, { location }).end();
        const expected = { code: 'failed_to_download_image', param: 'image[0]', retryable: false };
        expect(await refusal(load(`${origin}/`)), location).to.deep.equal(expected);
      }
      expect(canary.connections).to.equal(0);
    });

    it('fail with a code for the reason', async () => {
      const cases: readonly (readonly [code: string, retryable: boolean, answer: RequestListener])[] = [
        ['failed_to_download_image', true, (_request, response) => response.writeHead(404).end(picture)],
        ['failed_to_download_image', true, (_request, response) => response.writeHead(500).end()],
        ['failed_to_download_image', true, (_request, response) => response.writeHead(206).end(picture)],
        ['failed_to_download_image', true, (request) => request.socket.destroy()],
        [
          'failed_to_download_image',
          false,
          (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(picture)),
        ],
        ['image_file_too_large', false, (_request, response) => response.setHeader('content-length', 3e9).write('x')],
        ['unsupported_image_media_type', false, (_request, response) => response.end('<!doctype html>')],
        ['unsupported_image_media_type', false, (_request, response) => response.end()],
        ['invalid_image', false, (_request, response) => response.end(picture.subarray(0, picture.length - 40))],
        ['image_too_large', false, (_request, response) => response.end(plainWebp(12_000, 12_000))],
      ];
      for (const [code, retryable, listener] of cases) {
        answer = listener;
        expect(await refusal(load(`${origin}/`)), listener.toString()).to.deep.equal({
          code,
          param: 'image[0]',
          retryable,
        });
      }
    });

    it('are cut at 10 MiB', async () => {
      const full = Buffer.concat([picture, Buffer.alloc(10 * MIB - picture.length)]);
      answer = (_request, response) => {
        response.write(full);
        response.end();
      };
      expect(await load(`${origin}/`)).to.have.length(1);
      let sent = 0;
      const closed = Promise.withResolvers<void>();
      answer = (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write(full.subarray(0, MIB))) sent += MIB;
          sent += MIB;
        };
        response.on('drain', more).on('close', closed.resolve);
        more();
      };
      expect(await refusal(load(`${origin}/`))).to.include({ code: 'image_file_too_large' });
      await closed.promise;
      expect(sent).to.be.lessThan(40 * MIB);
    });

    it('have a deadline, and end with the job', async () => {
      answer = () => {};
      references = open(100);
      const late = { code: 'failed_to_download_image', param: 'image[0]', retryable: true };
      expect(await refusal(load(`${origin}/`))).to.deep.equal(late);

      references = open();
      const stop = new AbortController();
      const reason = new GatewayError('interrupted', 'The job was cancelled.');
      answer = () => stop.abort(reason);
      expect(await rejection(references.load(await checked(`${origin}/`), stop.signal))).to.equal(reason);
    });

    it('end together: running fetches of the others are aborted', async () => {
      const cut = Promise.withResolvers<void>();
      answer = (request, response) => {
        if (request.url === '/never') response.on('close', cut.resolve);
        else response.writeHead(410).end();
      };
      const failing = { code: 'failed_to_download_image', param: 'image[1]' };
      expect(await refusal(load(`${origin}/never`, `${origin}/gone`))).to.include(failing);
      await cut.promise;
    });

    it('hide their origin when they fail', async () => {
      answer = (_request, response) => response.writeHead(302, { location: 'https://10.1.2.3/secret' }).end();
      const error = await rejection(load(`${origin}/?token=secret`));
      expect((error as GatewayError).message).to.equal(
        'The image could not be downloaded. The host is not on the public Internet.',
      );
    });

    it('are decoded if they came with the request', async () => {
      const [media] = await load(uriOf(blackPng({ width: 6000, height: 5000 })));
      expect(await sharp(media?.bytes).metadata()).to.include({ format: 'jpeg', width: 4898, height: 4082 });
      const cut = uriOf(picture.subarray(0, picture.length - 40));
      expect(await refusal(load(uriOf(picture), cut))).to.deep.equal({
        code: 'invalid_image',
        param: 'image[1]',
        retryable: false,
      });
    });
  });
});
