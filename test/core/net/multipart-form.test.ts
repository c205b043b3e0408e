/** Multipart forms of the HTTP client. */

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { createGateway, type HttpClient } from 'mediagate';
import { encodeForm, type Form } from 'mediagate/plugin';
import { imageModel } from '../../support/images/invented-image.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

describe('multipart forms', () => {
  let folder: string;
  let origin: OriginServer;
  let seen: { request: IncomingMessage; body: Buffer }[] = [];
  let redirects = 0;
  let received = 0;
  let keeps = true;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-form-'));
    origin = await startOrigin(async (request, response) => {
      received = 0;
      request.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      if (keeps) seen.push({ request, body: await buffer(request).catch(() => Buffer.alloc(0)) });
      else await once(request, 'end');
      if (redirects-- > 0) response.writeHead(307, { location: '/again' });
      response.end();
    });
  });
  beforeEach(() => {
    seen = [];
    redirects = 0;
  });
  after(async () => {
    await origin.close();
    await rm(folder, { recursive: true });
  });

  /** The real client, as a plugin has it. */
  async function withHttp(use: (http: HttpClient) => Promise<unknown>): Promise<void> {
    let http: HttpClient | undefined;
    const gateway = await createGateway({
      plugins: [
        {
          use: {
            name: 'sender',
            apiVersion: 1,
            summary: 'Hands its client out.',
            provides: ['image'],
            setup(context) {
              http = context.http;
              return {
                imageProviders: [{ models: [imageModel('none')], generate: () => Promise.reject(new Error('unused')) }],
              };
            },
          },
        },
      ],
      trustedOrigins: [origin.origin],
    });
    try {
      if (!http) throw new Error(JSON.stringify(gateway.plugins()));
      await use(http);
    } finally {
      await gateway.close();
    }
  }

  const send = (http: HttpClient, { contentType, body }: Form, maxRedirects = 0) =>
    http.request({
      url: `${origin.origin}/form`,
      method: 'POST',
      headers: { 'content-type': contentType },
      body,
      maxRedirects,
    });

  const parse = (index = 0) => {
    const { request, body } = seen[index] ?? {};
    const headers = { 'content-type': request?.headers['content-type'] ?? '' };
    return new Response(Uint8Array.from(body ?? []), { headers }).formData();
  };

  it('equal what a browser sends', async () => {
    const content = Buffer.from('\r\n--form\x00\xff', 'latin1');
    const file = { name: 'image[]', fileName: 'a "b"\n.png', contentType: 'image/png', content };
    const fields = { prompt: 'é\r\n"x"', n: '1', 'granularities[]': ['word', 'segment'] };
    await withHttp((http) => send(http, encodeForm(fields, [file, file])));
    const form = await parse();
    expect(form.get('prompt')).to.equal('é\r\n"x"');
    expect(form.getAll('granularities[]')).to.deep.equal(['word', 'segment']);
    const files = form.getAll('image[]') as File[];
    expect(files.map(({ name, type }) => [name, type])).to.deep.equal([
      ['a "b"\n.png', 'image/png'],
      ['a "b"\n.png', 'image/png'],
    ]);
    expect(Buffer.from(await (files[0] as File).arrayBuffer()).equals(content)).to.equal(true);
  });

  it('are streamed from files with their length, and again for a redirect', async () => {
    const bytes = randomBytes(3_000_001);
    const file = path.join(folder, 'sound.bin');
    await writeFile(file, bytes);
    const part = {
      name: 'file',
      fileName: 'sound.bin',
      contentType: 'audio/x',
      content: { path: file, size: bytes.length },
    };
    const form = encodeForm({ model: 'm' }, [part]);
    redirects = 1;
    await withHttp((http) => send(http, form, 1));
    expect(seen.map(({ request }) => request.url)).to.deep.equal(['/form', '/again']);
    for (const [index, { request, body }] of seen.entries()) {
      expect(Number(request.headers['content-length'])).to.equal(form.body.size).and.to.equal(body.length);
      expect(request.headers['transfer-encoding']).to.equal(undefined);
      const sent = Buffer.from(await ((await parse(index)).get('file') as File).arrayBuffer());
      expect(createHash('sha256').update(sent).digest('hex')).to.equal(
        createHash('sha256').update(bytes).digest('hex'),
      );
    }
  });

  it('do not hold a large file in memory', async () => {
    const size = 192 * 1024 * 1024;
    const file = path.join(folder, 'large.bin');
    // A hole: it takes no room on the disk.
    await writeFile(file, '');
    await truncate(file, size);
    const part = { name: 'file', fileName: 'x', contentType: 'audio/x', content: { path: file, size } };
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    keeps = false;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 5);
    await withHttp((http) => send(http, encodeForm({}, [part]))).finally(() => clearInterval(watch));
    keeps = true;
    expect(received).to.be.greaterThan(size);
    expect(most).to.be.lessThan(size / 2);
  });

  it('fail with an empty or missing file', async () => {
    const file = path.join(folder, 'empty.bin');
    await writeFile(file, '');
    const part = (size: number, name = file) => ({
      name: 'file',
      fileName: 'x',
      contentType: 'audio/x',
      content: { path: name, size },
    });
    await withHttp(async (http) => {
      await send(http, encodeForm({}, [part(0)]));
      expect((((await parse()).get('file') as File) ?? { size: -1 }).size).to.equal(0);
      for (const gone of [part(10, path.join(folder, 'none')), part(10)]) {
        const error = await rejection(send(http, encodeForm({}, [gone])));
        expect(error).to.include({ code: 'upstream_error' });
      }
    });
  });
});
