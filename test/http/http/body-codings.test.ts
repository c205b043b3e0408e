/** Content codings of request bodies: gzip, deflate, br and zstd. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import zlib from 'node:zlib';
import { expect } from 'chai';
import { readJson } from '../../../server/http/bodies/body.js';
import { BodyBudget } from '../../../server/http/bodies/body-budget.js';
import { makeSound } from '../../support/audio/sounds.js';
import { until } from '../../support/until.js';
import { type AudioApp, startAudioApp, toForm } from '../audio/client.js';
import { type Answer, type ListeningApp, startApp } from './listening-app.js';

const LIMIT = 32 * 1024 * 1024;
const CODERS: Readonly<Record<string, (body: Uint8Array) => Buffer>> = {
  gzip: (body) => zlib.gzipSync(body),
  'x-gzip': (body) => zlib.gzipSync(body),
  deflate: (body) => zlib.deflateSync(body),
  br: (body) => zlib.brotliCompressSync(body),
  zstd: (body) => zlib.zstdCompressSync(body),
};

describe('bodies with a content coding', () => {
  let app: ListeningApp;
  let key: string;

  before(async () => {
    app = await startApp({
      gateway: { plugins: [{ use: 'mediagate/plugins/echo_text', options: { model: 'm-5.5' } }] },
    });
    key = await app.makeKey({ grants: ['text'] });
  });
  after(() => app.close());

  const send = (body: Uint8Array, coding: string, path = '/v1/chat/completions'): Promise<Answer> =>
    app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-encoding': coding },
      body: new Uint8Array(body),
    });
  const chat = (words: string) =>
    Buffer.from(JSON.stringify({ model: 'm-5.5', messages: [{ role: 'user', content: words }] }));
  const saidOf = ({ json }: Answer): string => json.choices[0].message.content;

  it('decodes gzip, both forms of deflate, br, zstd, identity, and several of them', async () => {
    for (const [coding, code] of Object.entries(CODERS)) {
      const answer = await send(code(chat(`by ${coding}`)), coding);
      expect([answer.status, saidOf(answer)], coding).to.deep.equal([
        200,
        `This is an echo, no model is connected (set TEXT_UPSTREAM_URL). You said: by ${coding}`,
      ]);
      const upper = await send(code(chat('up')), ` ${coding.toUpperCase()} , identity`);
      expect(upper.status, coding).to.equal(200);
    }
    expect((await send(zlib.deflateRawSync(chat('raw')), 'deflate')).status).to.equal(200);
    expect((await send(chat('plain'), 'identity')).status).to.equal(200);
    const twice = zlib.brotliCompressSync(zlib.gzipSync(chat('twice')));
    expect(saidOf(await send(twice, 'gzip, br'))).to.contain('twice');
    const thrice = zlib.zstdCompressSync(zlib.deflateRawSync(zlib.gzipSync(chat('thrice'))));
    expect(saidOf(await send(thrice, 'gzip, deflate, zstd'))).to.contain('thrice');
    const long = 'Ostend '.repeat(100_000);
    expect(saidOf(await send(zlib.gzipSync(chat(long)), 'gzip'))).to.contain('Ostend Ostend');
  });

  it('refuses unknown codings and names the accepted ones, and refuses invalid bodies', async () => {
    for (const coding of ['compress', 'lz4', 'gzip, lz4', 'gzip, gzip, gzip, gzip', '__proto__']) {
      const { status, json, headers } = await send(chat('a'), coding);
      expect([status, json.error.code], coding).to.deep.equal([415, 'unsupported_media_type']);
      expect(json.error.message).to.contain('gzip, deflate, br, zstd, identity');
      expect(headers.get('accept-encoding')).to.contain('zstd');
    }
    for (const [coding, code] of Object.entries(CODERS)) {
      const whole = code(chat('Ahoy! '.repeat(500)));
      for (const body of [chat('plain'), whole.subarray(0, whole.length - 9), Buffer.from('x')]) {
        const { status, json } = await send(body, coding);
        expect([status, json.error.code], coding).to.deep.equal([400, 'bad_request']);
      }
    }
    expect((await send(zlib.gzipSync('{"model":'), 'gzip')).json.error.code).to.equal('invalid_json');
  });

  it('limits decoded bytes at every stage without delaying others', async () => {
    const zeros = Buffer.alloc(400 * 1024 * 1024, 0x20);
    const bombs: [string, Buffer][] = [
      ['gzip', zlib.gzipSync(zeros, { level: 1 })],
      ['br', zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })],
      ['zstd', zlib.zstdCompressSync(zeros)],
    ];
    bombs.push(['gzip, gzip', zlib.gzipSync(zlib.gzipSync(zeros, { level: 1 }))]);
    // The outer stage alone is too long: what it has decodes to nothing.
    bombs.push([
      'deflate, gzip',
      zlib.gzipSync(
        Buffer.concat([Buffer.from([0x78, 0x9c]), Buffer.alloc(LIMIT + 5, Buffer.from([0, 0, 0, 0xff, 0xff]))]),
      ),
    ]);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const before = process.memoryUsage().rss;
    delay.enable();
    for (const [coding, body] of bombs) {
      const { status, json } = await send(body, coding);
      expect([status, json.error.code], coding).to.deep.equal([413, 'request_too_large']);
      expect(json.error.message).to.contain(`larger than ${LIMIT} bytes`);
    }
    delay.disable();
    expect(delay.max / 1e6).to.be.below(500);
    expect(process.memoryUsage().rss - before).to.be.below(400 * 1024 * 1024);
    const answer = await send(zlib.gzipSync(chat('after')), 'gzip');
    expect(answer.status).to.equal(200);
  });

  it('counts decoded bytes in the memory of bodies', async () => {
    const budget = new BodyBudget({ smallBytes: 1024 * 1024 });
    const server = createServer(async (request, response) => {
      const options = { maxBytes: 1024 * 1024, budget, owner: 'one', fingerprinted: false };
      const code = await readJson(request, response, options).then(
        () => 'ok',
        (error) => error.code,
      );
      response.end(`${code} ${budget.taken().small}`);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = async (bytes: number) => {
      const body = new Uint8Array(zlib.gzipSync(JSON.stringify({ text: 'x'.repeat(bytes) })));
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', connection: 'close' };
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
      return answer.text();
    };
    expect(await ask(300_000)).to.equal('ok 0');
    expect(await ask(500_000)).to.equal('queue_full 0');
    server.close();
  });

  it('ends with an error if the client disconnects', async () => {
    const body = zlib.gzipSync(chat('Ahoy! '.repeat(50_000)));
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-Request-Id: broken-off\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = connect(app.port, '127.0.0.1');
    socket.write(Buffer.concat([Buffer.from(head), body.subarray(0, 20)]), () => socket.destroy());
    await once(socket, 'close');
    const line = await until(() => app.log.find(({ fields }) => fields?.requestId === 'broken-off'));
    expect(line.fields).to.include({ code: 'bad_request' });
  });

  describe('as forms', () => {
    let audio: AudioApp;
    before(async () => {
      audio = await startAudioApp();
    });
    after(() => audio.close());

    it('decodes forms within the same limits', async () => {
      const sound = new Blob([new Uint8Array(await makeSound(audio.folder, 'wav', 1))]);
      const form = new Response(toForm({ model: 'stt-large-v3', file: sound }));
      const type = form.headers.get('content-type') ?? '';
      const bytes = Buffer.from(await form.arrayBuffer());
      const post = (body: Uint8Array, coding: string) =>
        audio.request('/v1/audio/transcriptions', {
          method: 'POST',
          headers: { authorization: `Bearer ${audio.key}`, 'content-type': type, 'content-encoding': coding },
          body: new Uint8Array(body),
        });
      for (const [coding, code] of Object.entries(CODERS)) {
        expect((await post(code(bytes), coding)).status, coding).to.equal(200);
      }
      const calls = audio.audio.calls.length;
      const bomb = Buffer.concat([bytes.subarray(0, bytes.length - 60), Buffer.alloc(60 * 1024 * 1024)]);
      const refused = await post(zlib.gzipSync(bomb), 'gzip');
      expect([refused.status, refused.json.error.code]).to.deep.equal([413, 'request_too_large']);
      expect((await post(bytes, 'gzip')).status).to.equal(400);
      expect((await post(bytes, 'lz4')).status).to.equal(415);
      expect(audio.audio.calls).to.have.length(calls);
    });
  });
});

/** Blocks of a deflate stream without content. */
