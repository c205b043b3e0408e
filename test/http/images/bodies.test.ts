/** Image requests of tens of megabytes: limits, slowness, refusals. */

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { ImageCall } from 'mediagate';
import { pngChunk } from '../../support/images/images.js';
import { inventedImage } from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

const TEN_MEBIBYTES = 10 * 1024 * 1024;

/** A small picture that is as large as an input image may be. */
async function paddedPng(bytes: number): Promise<Buffer> {
  const png = await sampleImage({ width: 64, height: 64, format: 'png', seed: 5 });
  const end = png.length - 12;
  return Buffer.concat([
    png.subarray(0, end),
    pngChunk('teST', Buffer.alloc(bytes - png.length - 12)),
    png.subarray(end),
  ]);
}

const dataUri = (bytes: Uint8Array) => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;

describe('large image requests', () => {
  let app: ListeningApp;
  let client: ImageClient;
  let calls: ImageCall[];
  let largest: string;

  before(async () => {
    calls = [];
    app = await startImageApp({
      generate: async (call) => {
        calls.push(call);
        return inventedImage(call);
      },
    });
    client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    largest = dataUri(await paddedPng(TEN_MEBIBYTES));
  });
  after(() => app.close());

  it('send four input images of 10 MiB to the model', async () => {
    const { status, text } = await client.generate({ ...PROMPT, image: [largest, largest, largest, largest] });
    expect(status, text).to.equal(200);
    const call = calls.find(({ references }) => references.length > 0);
    expect(call?.references.map(({ contentType }) => contentType)).to.deep.equal(Array(4).fill('image/png'));
  });

  it('are refused one byte beyond each limit', async () => {
    const larger = dataUri(await paddedPng(TEN_MEBIBYTES + 1));
    const { status, json } = await client.submit({ ...PROMPT, image: ['https://pictures.example/a.png', larger] });
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'image_file_too_large', 'image[1]']);
    const five = await client.submit({ ...PROMPT, image: [largest, largest, largest, largest], more: largest });
    expect([five.status, five.json.error.code]).to.deep.equal([413, 'request_too_large']);
  });

  it('are explained like small ones if they are invalid', async () => {
    const padding = 'x'.repeat(2 * 1024 * 1024);
    for (const [body, code] of [
      [`{"padding":"${padding}"`, 'invalid_json'],
      [`["${padding}"]`, 'invalid_json'],
      [JSON.stringify({ padding, ...PROMPT, n: 2 }), 'invalid_value'],
      [`${'{"a":'.repeat(65)}"${padding}"${'}'.repeat(65)}`, 'invalid_json'],
    ] as const) {
      const { status, json } = await client.submit(body);
      expect([status, json.error.code]).to.deep.equal([400, code]);
      expect(json.error.message).not.to.contain('xxx');
    }
    const escaped = `{"model":"gen-img-2","prompt":"a \\"tug\\" \\\\","padding":"${padding}\\\\\\""}`;
    expect((await client.submit(escaped)).status).to.equal(202);
  });

  it('match equal requests in any order of fields', async () => {
    const padding = 'x'.repeat(2 * 1024 * 1024);
    const key = { 'idempotency-key': 'large' };
    const first = await client.submit(JSON.stringify({ ...PROMPT, padding }), key);
    const again = await client.submit(
      ` {"padding" : "${padding}", "prompt":"${PROMPT.prompt}","model":"gen-img-2"}`,
      key,
    );
    expect([again.json.id, again.headers.get('idempotency-replayed')]).to.deep.equal([first.json.id, 'true']);
    const other = await client.submit(JSON.stringify({ ...PROMPT, padding: `${padding}y` }), key);
    expect(other.status).to.equal(422);
  });

  it('are ended if slow in favour of others, of the same account and of all', async () => {
    const head = (key: string) =>
      `POST /v1/images/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 50000000\r\n\r\n{"padding":"`;
    const big = { ...PROMPT, padding: 'x'.repeat(2_000_000) };
    const keys = await Promise.all(Array.from({ length: 3 }, () => app.makeKey({ grants: ['images'] })));
    const sockets: Socket[] = [];
    const answers: string[] = [];
    /** Takes places of large bodies, and keeps the pace that is asked of it. */
    const hold = async (key: string, count: number) => {
      const opened = Array.from({ length: count }, () => {
        const socket = connect(app.port, '127.0.0.1');
        sockets.push(socket);
        socket.write(head(key));
        socket.write(Buffer.alloc(1_200_000, 'x'));
        const sending = setInterval(() => socket.write(Buffer.alloc(65_536, 'x')), 250);
        socket.on('data', (chunk) => answers.push(String(chunk).slice(0, 12)));
        socket.on('error', () => {}).once('close', () => clearInterval(sending));
        return socket;
      });
      await until(() => opened.every(({ bytesWritten, writableLength }) => bytesWritten - writableLength > 1_200_000));
      // As long as a body is given before it may be ended.
      await sleep(2_500);
    };
    const [first = '', second = '', third = ''] = keys;
    try {
      await hold(first, 3);
      expect((await imageClient(app, first).submit(big)).status).to.equal(202);
      expect(answers).to.deep.equal(['HTTP/1.1 408']);
      await Promise.all([hold(first, 1), hold(second, 3), hold(third, 2)]);
      expect((await client.submit(big)).status).to.equal(202);
      expect(answers).to.deep.equal(['HTTP/1.1 408', 'HTTP/1.1 408']);
      expect((await client.submit()).status).to.equal(202);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('are refused with an explanation while the client still sends', async () => {
    const key = await app.makeKey({ grants: ['images'] });
    const bytes = 60_000_000;
    const socket = connect(app.port, '127.0.0.1');
    const failure = new Promise<string>((resolve) => socket.once('error', (error) => resolve(String(error))));
    socket.write(
      `POST /v1/images/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
    );
    // Nothing is read before all is sent, as simple clients do it.
    const sent = new Promise<string>((resolve) => socket.write(Buffer.alloc(bytes, ' '), () => resolve('sent')));
    expect(await Promise.race([sent, failure])).to.equal('sent');
    const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
    expect(await Promise.race([answer, failure])).to.match(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('are not read before the key is checked', async () => {
    const head =
      'POST /v1/images/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50000000\r\n';
    expect(await app.raw(`${head}\r\n{`)).to.match(/^HTTP\/1\.1 401 /);
    const expecting = `${head}Expect: 100-continue\r\n`;
    expect(await app.raw(`${expecting}\r\n`)).to.match(/^HTTP\/1\.1 401 /);
    const extract = await app.makeKey({ grants: ['extract'] });
    expect(await app.raw(`${expecting}Authorization: Bearer ${extract}\r\n\r\n`)).to.match(/^HTTP\/1\.1 403 /);
  });
});
