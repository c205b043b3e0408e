/** HTTP framing: ambiguous, invalid, slow and refused requests on the socket. */

import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createHttpServer } from 'mediagate/server';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from './listening-app.js';

/** The JSON body of a raw answer. */
function bodyOf(answer: string) {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

describe('HTTP framing', () => {
  let app: ListeningApp;
  let key: string;
  const body = JSON.stringify({ url: LINK });

  before(async () => {
    app = await startApp({ server: { headersMs: 700, requestMs: 1_500 } });
    key = await app.makeKey();
  });
  after(() => app.close());

  const post = (lines: readonly string[]) => {
    const head = ['POST /v1/extract HTTP/1.1', 'Host: a', `Content-Length: ${body.length}`, ...lines];
    return app.raw(`${head.join('\r\n')}\r\n\r\n${body}`);
  };

  it('accepts a plain request', async () => {
    expect(await post([`Authorization: Bearer ${key}`, 'Content-Type: application/json'])).to.match(/^HTTP\/1\.1 200 /);
  });

  it('accepts a target in absolute form', async () => {
    expect(await app.raw('GET http://a/health/live?x HTTP/1.1\r\nHost: a\r\n\r\n')).to.match(/^HTTP\/1\.1 200 /);
  });

  it('refuses fields that are sent twice', async () => {
    const good = [`Authorization: Bearer ${key}`, 'Content-Type: application/json'];
    for (const line of [
      'Host: b',
      'hOST: a',
      'Authorization: Bearer other',
      `authorization: Bearer ${key}`,
      'Content-Type: application/json',
    ]) {
      const answer = await post([...good, line]);
      expect(answer, line).to.match(/^HTTP\/1\.1 400 /);
      expect(bodyOf(answer).error.code).to.equal('bad_request');
    }
    for (const name of ['X-API-Key', 'Idempotency-Key']) {
      const answer = await post([...good, `${name}: 1`, `${name}: 1`]);
      expect(answer, name).to.match(/^HTTP\/1\.1 400 /);
    }
  });

  it('refuses a host header that names no single host', async () => {
    const get = (host: string) => app.raw(`GET /health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    for (const host of ['a, b', 'a,b', 'a b', 'a/b', 'a@b', '[::1', 'a:b', 'a:123456', 'a\tb', '<a>']) {
      const answer = await get(host);
      expect(answer, host)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.to.contain('host header');
    }
    for (const host of ['a', 'a.example:8787', '127.0.0.1:80', '[::1]:8787', 'xn--bcher-kva.example', ''])
      expect(await get(host), host).to.match(/^HTTP\/1\.1 200 /);
  });

  it('refuses transfer codings besides chunked, other HTTP versions and other expectations', async () => {
    const head = `POST /v1/extract HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n`;
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const codings = await app.raw(`${head}Transfer-Encoding: identity, chunked\r\n\r\n${chunked}`);
    expect(codings).to.match(/^HTTP\/1\.1 400 /);
    expect(await app.raw('GET /health HTTP/2.0\r\nHost: a\r\n\r\n')).to.match(/^HTTP\/1\.1 400 /);
    expect(await app.raw('GET /health HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\n\r\n')).to.match(/^HTTP\/1\.1 400 /);
    expect(await app.raw('GET /health HTTP/1.0\r\n\r\n')).to.match(/^HTTP\/1\.1 200 /);
  });

  it('answers TRACE and CONNECT with 405, reflecting nothing', async () => {
    const trace = await app.raw('TRACE /health HTTP/1.1\r\nHost: a\r\nCookie: canary\r\n\r\n');
    expect(trace)
      .to.match(/^HTTP\/1\.1 405 /)
      .and.not.to.contain('canary');
    expect(await app.raw('CONNECT internal:80 HTTP/1.1\r\nHost: internal:80\r\n\r\n')).to.match(/^HTTP\/1\.1 405 /);
  });

  const connections = promisify((done: (error: Error | null, count: number) => void) =>
    app.server.getConnections(done),
  );

  it('survives a client that requests a tunnel and resets the connection', async () => {
    const before = await connections();
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    // The answer is there and stays unread.
    await once(socket, 'readable');
    socket.resetAndDestroy();
    await until(async () => (await connections()) <= before);
    expect((await app.request('/health/live')).status).to.equal(200);
  });

  it('answers the requests before a CONNECT, and then refuses it', async () => {
    const head = ['POST /v1/extract HTTP/1.1', 'Host: a', `Content-Length: ${body.length}`, `X-API-Key: ${key}`];
    const first = [...head, 'Content-Type: application/json', '', body].join('\r\n');
    const answers = await app.raw(`${first}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`, 2);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 200', 'HTTP/1.1 405']);
  });

  it('closes refused connections', async () => {
    const starts = ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 'GARBAGE\r\n\r\n', 'GET /health HTTP/1.1\r\nHo', ''];
    const before = await connections();
    const sockets = starts.map((start) => {
      const socket = connect({ port: app.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined).write(start);
      return socket.resume();
    });
    await Promise.all(sockets.map((socket) => once(socket, 'end')));
    await until(async () => (await connections()) <= before);
    for (const socket of sockets) socket.destroy();
  });

  it('closes connections whose client reads nothing, and no others', async () => {
    // More than the buffers of both ends hold.
    const answer = Buffer.alloc(32 * 1024 * 1024);
    const server = createHttpServer({ idleMs: 1_000, handler: (_request, response) => void response.end(answer) });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = async () => {
      const socket = connect(port, '127.0.0.1');
      const [accepted] = (await once(server, 'connection')) as [Socket];
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      return { socket, accepted };
    };
    const [silent, taking] = [await ask(), await ask()];
    let bytes = 0;
    taking.socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    await once(silent.accepted, 'close');
    await until(() => bytes > answer.length);
    expect(taking.accepted.destroyed).to.equal(false);
    expect(taking.accepted.timeout).to.be.above(60_000);
    silent.socket.destroy();
    taking.socket.destroy();
    server.close();
  });

  for (const target of ['http://[::1/v1/models', 'http://', 'nowhere', 'ftp://a/health']) {
    it(`refuses the target ${target} in the usual shape`, async () => {
      const answer = await app.raw(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect(answer).to.match(/^HTTP\/1\.1 400 /);
      expect(bodyOf(answer).error.code).to.equal('bad_request');
      expect(answer.toLowerCase()).to.contain(`x-request-id: ${bodyOf(answer).error.request_id.toLowerCase()}`);
    });
  }

  it('answers and closes if the end of the body is ambiguous', async () => {
    for (const [version, coding] of [
      ['1.1', 'xchunked'],
      ['1.1', 'gzip'],
      ['1.0', 'chunked'],
    ]) {
      const head = `POST /v1/extract HTTP/${version}\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: ${coding}`;
      const answer = await app.raw(`${head}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
      expect(answer, coding).to.match(/^HTTP\/1\.1 400 /);
      expect(bodyOf(answer).error.code).to.equal('bad_request');
    }
  });

  it('answers a request once if the rest of its body never arrives', async () => {
    const answers = await app.raw('GET /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\nx', 2);
    expect(answers.match(/HTTP\/1\.1 /g)).to.have.length(1);
  });

  it('answers parser failures in the usual format, with a request id', async () => {
    const cases: [string, number, string][] = [
      ['GARBAGE\r\n\r\n', 400, 'bad_request'],
      ['GET /health HTTP/1.1\r\n\r\n', 400, 'bad_request'],
      [
        'POST /v1/extract HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello',
        400,
        'bad_request',
      ],
      [
        'POST /v1/extract HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello',
        400,
        'bad_request',
      ],
      [`GET /health HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'request_too_large'],
    ];
    for (const [bytes, status, code] of cases) {
      const answer = await app.raw(bytes);
      expect(answer, bytes.slice(0, 60)).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      const { error } = bodyOf(answer);
      expect(error.code).to.equal(code);
      expect(answer.toLowerCase())
        .to.contain(`x-request-id: ${error.request_id.toLowerCase()}`)
        .and.to.contain('nosniff');
    }
  });

  it('answers slow headers and slow bodies with 408', async () => {
    const answers = await Promise.all([
      app.raw('GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: '),
      app.raw(
        `POST /v1/extract HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
      ),
    ]);
    for (const answer of answers) {
      expect(answer).to.match(/^HTTP\/1\.1 408 /);
      expect(bodyOf(answer).error.code).to.equal('request_timeout');
    }
    expect((await app.request('/health')).status).to.equal(200);
  });

  it('sends "100 Continue" only after the key was checked', async () => {
    const head = `POST /v1/extract HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const refused = await app.raw(`${head}\r\n`);
    expect(refused)
      .to.match(/^HTTP\/1\.1 401 /)
      .and.not.to.contain('100 Continue');
    const accepted = await app.raw(`${head}X-API-Key: ${key}\r\n\r\n${body}`);
    expect(accepted).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  it('lets a client that is still sending read its 401, reads at most 64 KB, and ends the connection', async () => {
    const seen = await new Promise<{ answer: string; sent: number }>((resolve) => {
      const socket = connect(app.port, '127.0.0.1');
      let answer = '';
      let sent = 0;
      const part = 'x'.repeat(16_384);
      const sender = setInterval(() => {
        if (socket.destroyed || sent > 4_000_000) return;
        socket.write(part);
        sent += part.length;
      }, 1);
      const finish = () => {
        clearInterval(sender);
        socket.destroy();
        resolve({ answer, sent });
      };
      socket.on('data', (chunk) => {
        answer += chunk.toString();
      });
      socket.on('error', finish).on('close', finish);
      socket.write(
        'POST /v1/extract HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50000000\r\n\r\n',
      );
    });
    expect(seen.answer)
      .to.match(/^HTTP\/1\.1 401 /)
      .and.to.contain('missing_api_key');
    expect(seen.sent).to.be.below(4_000_000);
  });

  it('keeps a connection that sent a small body with its refused key', async () => {
    const refused = `POST /v1/extract HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const answers = await app.raw(`${refused}GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`, 2);
    expect(answers).to.contain('HTTP/1.1 401 ').and.to.contain('HTTP/1.1 200 ');
  });
});
