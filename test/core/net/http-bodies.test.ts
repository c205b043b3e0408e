/** Bodies of HTTP answers: codings, caps and bombs. */

import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect } from 'chai';
import type { HttpClient } from '../../../core/contracts/services.js';
import { createAddressGuard } from '../../../core/net/egress.js';
import { createHttpTransport, type HttpTransport } from '../../../core/net/http-client.js';
import { ArrivedBody, MAX_ARRIVED_BYTES } from '../../../core/runtime/index.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

const page = Buffer.from(Array.from({ length: 20_000 }, (_, index) => `<p id="${index}">Grüße</p>`).join('\n'));

const CODED: Readonly<Record<string, Buffer>> = {
  identity: page,
  gzip: gzipSync(page),
  'x-gzip': gzipSync(page),
  GZIP: gzipSync(page),
  deflate: deflateSync(page),
  br: brotliCompressSync(page),
  zstd: zstdCompressSync(page),
  'gzip, br': brotliCompressSync(gzipSync(page)),
  'identity,deflate': deflateSync(page),
};

/** What the bombs below unfold to. */
const zeros = () => Buffer.alloc(128 * MEBIBYTE);

const BOMBS: Readonly<Record<string, () => Buffer>> = {
  gzip: () => gzipSync(zeros(), { level: 1 }),
  br: () => brotliCompressSync(zeros(), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: () => zstdCompressSync(zeros()),
  deflate: () => deflateSync(zeros(), { level: 1 }),
  'gzip, gzip': () => gzipSync(gzipSync(zeros(), { level: 1 })),
};

describe('http bodies', () => {
  let transport: HttpTransport;
  let server: OriginServer;
  let client: HttpClient;
  /** Settles when the answer under way has left or been given up. */
  let closed: Promise<unknown>;
  let answer: {
    coding?: string;
    body: Buffer;
    /** Sends the body over and over. */
    endless?: boolean;
    /** Sends this `content-length` and no body. */
    announced?: number;
  };

  before(async () => {
    server = await startOrigin((_request, response) => {
      closed = new Promise((resolve) => response.on('close', resolve));
      if (answer.coding) response.setHeader('content-encoding', answer.coding);
      if (answer.announced !== undefined) {
        response.setHeader('content-length', answer.announced).flushHeaders();
      } else if (answer.endless) {
        const more = () => !response.destroyed && response.write(answer.body, more);
        more();
      } else {
        response.end(answer.body);
      }
    });
    transport = createHttpTransport({ guard: createAddressGuard() });
    client = transport.scoped({ timeoutMs: 20_000, trustedOrigins: [server.origin] });
  });

  after(async () => {
    await transport.close();
    await server.close();
  });

  describe('a streamed body', () => {
    const read = async (body: AsyncIterable<Uint8Array>) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of body) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    };

    it('that is short and arrived with its head has its bytes at once, and is a body like any other', async () => {
      answer = { body: Buffer.from('{"short":true}') };
      const { body } = await client.stream({ url: server.origin });
      expect(body).to.be.instanceOf(ArrivedBody);
      expect((body as ArrivedBody).bytes.toString()).to.equal('{"short":true}');
      expect([await read(body), await read(body)]).to.deep.equal(['{"short":true}', '']);
    });

    it('that is longer, coded or empty is read piece by piece', async () => {
      const long = Buffer.alloc(MAX_ARRIVED_BYTES + 1, 'a');
      const answers = [
        [{ body: long }, long.toString()],
        [{ coding: 'gzip', body: gzipSync('short') }, 'short'],
        [{ body: Buffer.alloc(0) }, ''],
      ] as const;
      for (const [sent, text] of answers) {
        answer = sent;
        const { body } = await client.stream({ url: server.origin });
        expect(body).not.to.be.instanceOf(ArrivedBody);
        expect(await read(body)).to.equal(text);
      }
    });
  });

  for (const [coding, body] of Object.entries(CODED)) {
    it(`are decoded from ${coding}`, async () => {
      answer = { coding, body };
      const { body: whole } = await client.request({ url: server.origin });
      expect(page.equals(whole)).to.equal(true);
      const chunks = [];
      for await (const chunk of (await client.stream({ url: server.origin })).body) chunks.push(chunk);
      expect(page.equals(Buffer.concat(chunks))).to.equal(true);
    });
  }

  it('are decoded from a deflate without its header', async () => {
    answer = { coding: 'deflate', body: deflateRawSync(page) };
    expect(page.equals((await client.request({ url: server.origin })).body)).to.equal(true);
  });

  for (const coding of ['gzip', 'deflate', 'br', 'zstd']) {
    it(`are refused if they are cut short, in ${coding}`, async () => {
      const body = CODED[coding] ?? expect.fail();
      answer = { coding, body: body.subarray(0, body.length - 10) };
      expect(await rejection(client.request({ url: server.origin }))).to.include({
        code: 'upstream_error',
        message: 'The origin sent a body that is incomplete or cannot be decoded.',
      });
    });
  }

  it('may be exactly as long as the cap', async () => {
    for (const coding of ['identity', 'gzip']) {
      answer = { coding, body: CODED[coding] ?? expect.fail() };
      const exact = await client.request({ url: server.origin, maxBytes: page.length });
      expect(exact.body).to.have.length(page.length);
      const error = await rejection(client.request({ url: server.origin, maxBytes: page.length - 1 }));
      expect(error).to.include({ code: 'upstream_error', message: 'The origin sent more than the limit.' });
    }
  });

  it('are capped at 8 MiB by default, and always by the scoped client', async () => {
    answer = { body: Buffer.alloc(8 * MEBIBYTE + 1) };
    expect(await rejection(client.request({ url: server.origin }))).to.include({ code: 'upstream_error' });
    expect((await client.request({ url: server.origin, maxBytes: 9 * MEBIBYTE })).body).to.have.length(
      8 * MEBIBYTE + 1,
    );
    const narrow = transport.scoped({ timeoutMs: 20_000, maxBytes: KIBIBYTE, trustedOrigins: [server.origin] });
    const error = await rejection(narrow.request({ url: server.origin, maxBytes: 9 * MEBIBYTE }));
    expect(error).to.include({ code: 'upstream_error' });
  });

  it('are refused at once if they are announced above the cap', async () => {
    answer = { body: Buffer.alloc(0), announced: 9 * MEBIBYTE };
    const error = await rejection(client.request({ url: server.origin }));
    expect(error).to.include({ code: 'upstream_error', message: 'The origin sent more than the limit.' });
    await closed;
  });

  it('leave the status readable if they are unreadable, and close the connection', async () => {
    const unreadable: (typeof answer)[] = [
      { body: Buffer.alloc(0), announced: 9 * MEBIBYTE },
      { body: page, coding: 'utf-8' },
      { body: page, coding: 'gzip, gzip, gzip' },
    ];
    for (const one of unreadable) {
      answer = one;
      const left = await client.stream({ url: server.origin });
      expect(left.status).to.equal(200);
      await left.body[Symbol.asyncIterator]().return?.();
      await closed;
      const { body } = await client.stream({ url: server.origin });
      expect(await rejection(body[Symbol.asyncIterator]().next())).to.include({ code: 'upstream_error' });
      await closed;
    }
  });

  it('are cut at the cap if they never end', async () => {
    answer = { body: Buffer.alloc(64 * KIBIBYTE), endless: true };
    expect(await rejection(client.request({ url: server.origin }))).to.include({ code: 'upstream_error' });
    await closed;
  });

  it('are cut if they decode to nothing without end', async () => {
    answer = { coding: 'gzip', body: Buffer.concat(Array(1000).fill(gzipSync(''))), endless: true };
    const error = await rejection(client.request({ url: server.origin, maxBytes: MEBIBYTE }));
    expect(error).to.include({ code: 'upstream_error', message: 'The origin sent more than the limit.' });
    await closed;
  });

  for (const [coding, make] of Object.entries(BOMBS)) {
    it(`take no memory if they are bombs, in ${coding}`, async () => {
      answer = { coding, body: make() };
      let peak = 0;
      const before = process.memoryUsage.rss();
      const watch = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage.rss() - before);
      }, 1);
      try {
        for (const read of [client.request, readThrough]) {
          const error = await rejection(read({ url: server.origin, maxBytes: MEBIBYTE }));
          expect(error).to.include({ code: 'upstream_error', message: 'The origin sent more than the limit.' });
        }
      } finally {
        clearInterval(watch);
      }
      // A decoder that ran to the end would hold most of 128 MiB.
      expect(peak).to.be.below(64 * MEBIBYTE);
      await closed;
    });
  }

  async function readThrough(request: { url: string; maxBytes: number }): Promise<number> {
    let total = 0;
    for await (const chunk of (await client.stream(request)).body) total += chunk.length;
    return total;
  }
});
