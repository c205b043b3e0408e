/** The HTTP client: redirects, deadlines, aborts and failures. */

import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { HttpClient } from '../../../core/contracts/services.js';
import { type AddressGuard, createAddressGuard } from '../../../core/net/egress.js';
import { createHttpTransport, type HttpClientLimits, type HttpTransport } from '../../../core/net/http-client.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { systemClock } from '../../../core/runtime/time.js';
import { createCertificateAuthority } from '../../support/http/certificates.js';
import {
  type OriginServer,
  startOrigin,
  startRawOrigin,
  startSecureOrigin,
} from '../../support/links/origin-server.js';
import { packageRoot } from '../../support/package-root.js';
import { rejection } from '../../support/rejection.js';

/** Long enough for a busy machine to answer within, where no deadline is what is tested. */
const AMPLE_MS = 20_000;
const SHORT_MS = 150;
/** Short as well, though a status has to come in it. */
const HEAD_MS = 1_000;

describe('http transport', () => {
  let transport: HttpTransport;
  const servers: OriginServer[] = [];

  beforeEach(() => {
    transport = createHttpTransport({ guard: createAddressGuard() });
  });

  afterEach(async () => {
    await transport.close();
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  async function started(starting: Promise<OriginServer>): Promise<OriginServer> {
    const server = await starting;
    servers.push(server);
    return server;
  }

  const origin = (answer: RequestListener) => started(startOrigin(answer));

  function clientFor(trusted: readonly OriginServer[], limits: Partial<HttpClientLimits> = {}): HttpClient {
    return transport.scoped({ timeoutMs: AMPLE_MS, trustedOrigins: trusted.map((server) => server.origin), ...limits });
  }

  describe('a request', () => {
    it('is sent as specified, and its answer is complete', async () => {
      const server = await origin(async (request, response) => {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        response.setHeader('Set-Cookie', ['a=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT', 'b=2']);
        response.setHeader('Vary', ['accept', 'origin']);
        response.statusCode = 201;
        const { method, url, headers } = request;
        response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
      });
      const response = await clientFor([server]).request({
        url: `${server.origin}/a/b?c=d#fragment`,
        method: 'POST',
        headers: { 'Content-Type': 'text/plain', 'x-own': 'yes', host: 'elsewhere', 'content-length': '1' },
        body: 'Grüße',
      });
      expect(response).to.include({ status: 201, url: `${server.origin}/a/b?c=d#fragment` });
      expect(response.headers).to.include({
        'set-cookie': 'a=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT\nb=2',
        vary: 'accept, origin',
      });
      expect(response.json()).to.deep.equal({
        method: 'POST',
        url: '/a/b?c=d',
        headers: {
          'accept-encoding': 'gzip, deflate, br, zstd',
          connection: 'keep-alive',
          'content-length': '7',
          'content-type': 'text/plain',
          host: `127.0.0.1:${server.port}`,
          'x-own': 'yes',
        },
        body: 'Grüße',
      });
    });

    it('sends no cookie of an earlier answer, and reuses connections', async () => {
      const cookies: unknown[] = [];
      const server = await origin((request, response) => {
        cookies.push(request.headers.cookie);
        response.setHeader('set-cookie', 'session=1').end('ok');
      });
      const client = clientFor([server]);
      for (let round = 0; round < 8; round++) await client.request({ url: server.origin });
      expect(cookies).to.have.length(8);
      expect(new Set(cookies)).to.deep.equal(new Set([undefined]));
      // A second one is opened where the first has not yet noticed that it is free.
      expect(server.connections).to.be.at.most(2);
    });

    it('returns text with invalid bytes replaced and without a byte order mark', async () => {
      const server = await origin((_request, response) => response.end(Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff])));
      const response = await clientFor([server]).request({ url: server.origin });
      expect(response.text()).to.equal('a\ufffd');
      const error = await rejection(Promise.resolve().then(() => response.json()));
      expect(error).to.include({ code: 'upstream_refused' }).and.not.to.have.property('cause');
    });

    it('accepts an answer to HEAD and an empty encoded body', async () => {
      const server = await origin((request, response) => {
        response.setHeader('content-encoding', 'gzip');
        response.setHeader('content-length', request.method === 'HEAD' ? 99_999_999 : 0).end();
      });
      const client = clientFor([server]);
      for (const method of ['HEAD', 'GET'] as const) {
        const response = await client.request({ url: server.origin, method });
        expect(response.body).to.have.length(0);
      }
    });
  });

  describe('the address guard', () => {
    it('runs before a connection is made', async () => {
      const canary = await origin((_request, response) => response.end('internal'));
      const client = transport.scoped({ timeoutMs: AMPLE_MS });
      for (const url of [
        canary.origin,
        `http://localhost:${canary.port}/`,
        'http://2130706433/',
        'file:///etc/passwd',
      ]) {
        expect(await rejection(client.request({ url })), url).to.include({ code: 'upstream_refused' });
        expect(await rejection(client.stream({ url })), url).to.include({ code: 'upstream_refused' });
      }
      expect(await rejection(client.request({ url: 'no url' }))).to.include({ code: 'upstream_refused' });
      expect(canary.connections).to.equal(0);
    });

    it('runs again for every hop of a redirect', async () => {
      const canary = await origin((_request, response) => response.end('internal'));
      const targets = [
        canary.origin,
        `http://[::ffff:7f00:1]:${canary.port}/`,
        `//0x7f.1:${canary.port}/`,
        'file:///etc',
      ];
      const server = await origin((request, response) =>
        response.writeHead(302, { location: targets[Number(request.url?.slice(1))] }).end(),
      );
      const client = clientFor([server]);
      for (const index of targets.keys()) {
        const error = await rejection(client.request({ url: `${server.origin}/${index}`, maxRedirects: 5 }));
        expect(error, targets[index]).to.include({ code: 'upstream_refused' });
      }
      expect(canary.connections).to.equal(0);
    });

    it('allows a request to a configured origin, and no redirect from or to other origins', async () => {
      const asked: string[] = [];
      const away = await origin((request, response) => {
        asked.push(`away ${request.url}`);
        response.writeHead(302, { location: `${home.origin}/end` }).end();
      });
      const home = await origin((request, response) => {
        asked.push(`home ${request.url}`);
        const location = { '/other': `${away.origin}/back`, '/within': '/end' }[request.url ?? ''];
        response.writeHead(location ? 307 : 200, location ? { location } : {}).end('reached');
      });
      const limits = { timeoutMs: AMPLE_MS, configuredOrigins: [home.origin, away.origin] };
      const client = transport.scoped(limits);
      expect((await client.request({ url: `${home.origin}/within`, maxRedirects: 3 })).text()).to.equal('reached');
      const other = await rejection(client.request({ url: `${home.origin}/other`, maxRedirects: 3 }));
      expect(other).to.include({ code: 'upstream_refused' });
      expect(asked).to.deep.equal(['home /within', 'home /end', 'home /other']);
      // Where the operator lets all go to the other one, nobody is led back from there either.
      const halfway = transport.scoped({ ...limits, trustedOrigins: [away.origin] });
      const back = await rejection(halfway.request({ url: `${home.origin}/other`, maxRedirects: 3 }));
      expect(back).to.include({ code: 'upstream_refused' });
      expect(asked.slice(3)).to.deep.equal(['home /other', 'away /back']);
      const outsider = transport.scoped({ timeoutMs: AMPLE_MS });
      expect(await rejection(outsider.request({ url: home.origin }))).to.include({ code: 'upstream_refused' });
    });

    it('refuses a public name with any private address', async () => {
      const canary = await origin((_request, response) => response.end('internal'));
      const guard = createAddressGuard({ resolve: async () => ['93.184.216.34', '127.0.0.1'] });
      const rebound = createHttpTransport({ guard: { ...guard, checkUrl: () => {} } });
      const client = rebound.scoped({ timeoutMs: AMPLE_MS });
      const error = await rejection(client.request({ url: `http://rebind.example:${canary.port}/` }));
      expect(error).to.include({ code: 'upstream_refused' });
      // Even where the check of the URL has been passed, the connector looks at literals itself.
      const literal = await rejection(client.request({ url: `http://127.0.0.1:${canary.port}/` }));
      expect(literal).to.include({ code: 'upstream_refused' });
      const mapped = await rejection(client.request({ url: `http://[::ffff:127.0.0.1]:${canary.port}/` }));
      expect(mapped).to.include({ code: 'upstream_refused' });
      expect(canary.connections).to.equal(0);
      await rebound.close();
    });

    it('keeps the connection to a trusted origin from callers who do not trust it', async () => {
      const server = await origin((_request, response) => response.end('internal'));
      // The name is fine to look at; only its address is not.
      const guard = createAddressGuard({ resolve: async () => ['127.0.0.1'] });
      const trusting: AddressGuard = { ...guard, checkUrl: () => {} };
      const shared = createHttpTransport({ guard: trusting });
      const url = `http://localhost:${server.port}/`;
      const insider = shared.scoped({ timeoutMs: AMPLE_MS, trustedOrigins: [url] });
      expect((await insider.request({ url })).text()).to.equal('internal');
      const outsider = shared.scoped({ timeoutMs: AMPLE_MS });
      expect(await rejection(outsider.request({ url }))).to.include({ code: 'upstream_refused' });
      expect(server.connections).to.equal(1);
      await shared.close();
    });

    it('determines the address of the connection, under the requested name', async () => {
      const authority = await createCertificateAuthority();
      const names: string[] = [];
      const hosts: unknown[] = [];
      const server = await started(
        startSecureOrigin(
          (name) => {
            names.push(name);
            return authority.contextFor(name);
          },
          (request, response) => {
            hosts.push(request.headers.host);
            response.end('pinned');
          },
        ),
      );
      const url = `https://pinned.example:${server.port}/`;
      const script = `
        import { createHttpTransport } from './dist/core/net/http-client.js';
        const guard = { checkUrl() {}, isTrusted: () => false, addresses: async () => ['127.0.0.1'] };
        const transport = createHttpTransport({ guard });
        const response = await transport.scoped({ timeoutMs: ${AMPLE_MS} }).request({ url: ${JSON.stringify(url)} });
        console.log(response.text());
        await transport.close();`;
      const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-http-'));
      try {
        const ca = path.join(folder, 'ca.pem');
        await writeFile(ca, authority.pem);
        const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
          cwd: packageRoot,
          env: { ...process.env, NODE_EXTRA_CA_CERTS: ca },
        });
        expect(stdout).to.equal('pinned\n');
        expect(names).to.deep.equal(['pinned.example']);
        expect(hosts).to.deep.equal([`pinned.example:${server.port}`]);
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  });

  describe('redirects', () => {
    it('are followed only on request, up to the requested number', async () => {
      const server = await origin((request, response) => {
        const left = Number(request.url?.slice(1));
        if (left > 0) response.writeHead(302, { location: `/${left - 1}` });
        response.end('the body');
      });
      const client = clientFor([server]);
      const first = await client.request({ url: `${server.origin}/1` });
      expect(first).to.include({ status: 302, url: `${server.origin}/1` });
      expect(first.headers.location).to.equal('/0');

      const followed = await client.request({ url: `${server.origin}/5`, maxRedirects: 5 });
      expect(followed).to.include({ status: 200, url: `${server.origin}/0` });
      const error = await rejection(client.request({ url: `${server.origin}/3`, maxRedirects: 2 }));
      expect(error).to.include({ code: 'upstream_error', message: 'The origin redirects too often.' });
      expect(await rejection(client.request({ url: server.origin, maxRedirects: 6 }))).to.be.instanceOf(GatewayError);
    });

    it('without a target are an error', async () => {
      const server = await origin((_request, response) => response.writeHead(302, { location: 'http://[' }).end());
      const error = await rejection(clientFor([server]).request({ url: server.origin, maxRedirects: 1 }));
      expect(error).to.include({ code: 'upstream_error' });
    });

    it('keep or change the method as browsers do', async () => {
      const seen: unknown[] = [];
      const server = await origin(async (request, response) => {
        let length = 0;
        for await (const chunk of request) length += chunk.length;
        const { method, headers } = request;
        seen.push([method, length, headers['content-type']]);
        const status = Number(request.url?.slice(1));
        if (status) response.writeHead(status, { location: '/' });
        response.end();
      });
      const client = clientFor([server]);
      const headers = { 'content-type': 'text/plain' };
      for (const status of [301, 302, 303, 307, 308]) {
        seen.length = 0;
        await client.request({
          url: `${server.origin}/${status}`,
          method: 'POST',
          headers,
          body: 'abc',
          maxRedirects: 1,
        });
        const second = status < 307 ? ['GET', 0, undefined] : ['POST', 3, 'text/plain'];
        expect(seen, `${status}`).to.deep.equal([['POST', 3, 'text/plain'], second]);
      }
      seen.length = 0;
      await client.request({ url: `${server.origin}/302`, method: 'PUT', headers, body: 'abc', maxRedirects: 1 });
      expect(seen[1]).to.deep.equal(['PUT', 3, 'text/plain']);
      for (const method of ['GET', 'HEAD'] as const) {
        for (const status of [301, 302, 303, 307, 308]) {
          seen.length = 0;
          await client.request({ url: `${server.origin}/${status}`, method, maxRedirects: 1 });
          expect(seen, `${method} ${status}`).to.deep.equal(Array(2).fill([method, 0, undefined]));
        }
      }
      seen.length = 0;
      await client.request({ url: `${server.origin}/303`, method: 'PUT', headers, body: 'abc', maxRedirects: 1 });
      expect(seen[1]).to.deep.equal(['GET', 0, undefined]);
      seen.length = 0;
      await client.request({ url: `${server.origin}/303`, method: 'DELETE', maxRedirects: 1 });
      expect(seen[1]).to.deep.equal(['GET', 0, undefined]);
    });

    it('carry no credentials to another origin, nor back from it', async () => {
      const seen: Record<string, unknown>[] = [];
      const away = await origin((request, response) => {
        seen.push(request.headers);
        response.writeHead(302, { location: `${home.origin}/end` }).end();
      });
      const home = await origin((request, response) => {
        seen.push(request.headers);
        if (request.url === '/start') response.writeHead(302, { location: '/same' });
        if (request.url === '/same') response.writeHead(302, { location: `${away.origin}/` });
        response.end();
      });
      const secrets = {
        authorization: 'Bearer 1',
        cookie: 'a=1',
        'x-api-key': '1',
        'x-goog-api-key': '1',
        'x-auth-token': '1',
        'x-session-id': '1',
      };
      const headers = { ...secrets, accept: 'text/html', 'user-agent': 'test', 'accept-language': 'en' };
      const client = clientFor([home, away]);
      const response = await client.request({ url: `${home.origin}/start`, headers, maxRedirects: 3 });
      expect(response.url).to.equal(`${home.origin}/end`);
      const [start, same, other, end] = seen;
      for (const kept of [start, same]) expect(kept).to.include(headers);
      for (const bare of [other, end]) {
        expect(bare).to.include({ accept: 'text/html', 'user-agent': 'test', 'accept-language': 'en' });
        expect(bare).not.to.have.any.keys(Object.keys(secrets));
      }
    });
  });

  describe('deadlines', () => {
    const slow: Readonly<Record<string, (socket: Socket) => void>> = {
      'says nothing': () => {},
      'dribbles its headers': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const dribble = setInterval(() => socket.write('x-a: b\r\n'), 20);
        socket.on('close', () => clearInterval(dribble));
      },
      'dribbles its body': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        const dribble = setInterval(() => socket.write('1\r\nx\r\n'), 20);
        socket.on('close', () => clearInterval(dribble));
      },
      'stops in the middle': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
    };

    for (const [what, answer] of Object.entries(slow)) {
      it(`end the request to an origin that ${what}`, async () => {
        const server = await started(startRawOrigin(answer));
        const client = clientFor([server]);
        const error = await rejection(client.request({ url: server.origin, timeoutMs: SHORT_MS }));
        expect(error).to.include({ code: 'upstream_timeout', message: 'The origin did not answer in time.' });
        await server.idle();
      });
    }

    it('cover all hops together', async () => {
      const server = await origin((_request, response) => {
        setTimeout(() => response.writeHead(302, { location: '/' }).end(), SHORT_MS / 2);
      });
      const client = clientFor([server], { timeoutMs: SHORT_MS });
      const error = await rejection(client.request({ url: server.origin, maxRedirects: 5, timeoutMs: AMPLE_MS }));
      expect(error).to.include({ code: 'upstream_timeout' });
    });

    it('include the time to connect', async () => {
      const guard = { ...createAddressGuard(), checkUrl() {}, addresses: () => new Promise<never>(() => {}) };
      const stuck = createHttpTransport({ guard });
      const client = stuck.scoped({ timeoutMs: SHORT_MS });
      expect(await rejection(client.request({ url: 'http://stuck.example/' }))).to.include({
        code: 'upstream_timeout',
      });
      await stuck.close();
    });

    it('apply while a stream is read', async () => {
      const server = await started(startRawOrigin(slow['dribbles its body'] ?? expect.fail()));
      const { body } = await clientFor([server]).stream({ url: server.origin, timeoutMs: HEAD_MS });
      const error = await rejection(
        (async () => {
          for await (const chunk of body) expect(Buffer.from(chunk).toString()).to.match(/^x+$/);
        })(),
      );
      expect(error).to.include({ code: 'upstream_timeout' });
      await server.idle();
    });

    it('end with the status if silence has a limit of its own, while the body may continue', async () => {
      const server = await started(startRawOrigin(slow['dribbles its body'] ?? expect.fail()));
      const times = { timeoutMs: HEAD_MS, idleMs: AMPLE_MS };
      const { body } = await clientFor([server]).stream({ url: server.origin, ...times });
      const begun = performance.now();
      for await (const _chunk of body) if (performance.now() - begun > 2 * HEAD_MS) break;
      await server.idle();
    });

    it('end a body that falls silent', async () => {
      const server = await started(
        startRawOrigin((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')),
      );
      const { body } = await clientFor([server]).stream({ url: server.origin, idleMs: SHORT_MS });
      const chunks = body[Symbol.asyncIterator]();
      expect(Buffer.from((await chunks.next()).value).toString()).to.equal('half');
      expect(await rejection(Promise.resolve(chunks.next()))).to.include({ code: 'upstream_timeout' });
      await server.idle();
    });

    it('do not count a requested wait as silence', async () => {
      const whole = Buffer.alloc(4 * 1024 * 1024, 'x');
      const server = await origin((_request, response) => response.end(whole));
      const { body } = await clientFor([server]).stream({ url: server.origin, idleMs: SHORT_MS });
      let length = 0;
      for await (const chunk of body) {
        if (length === 0) await systemClock.sleep(3 * SHORT_MS);
        length += chunk.length;
      }
      expect(length).to.equal(whole.length);
    });

    it('close a stream that is not read', async () => {
      const server = await started(startRawOrigin(slow['dribbles its body'] ?? expect.fail()));
      await clientFor([server]).stream({ url: server.origin, timeoutMs: HEAD_MS });
      await server.idle();
    });
  });

  describe('aborting', () => {
    const reason = new Error('no longer wanted');

    it('ends a request at once with the reason of the abort', async () => {
      const server = await started(startRawOrigin(() => {}));
      for (const who of ['caller', 'face'] as const) {
        const controller = new AbortController();
        const face = clientFor([server], { signal: who === 'face' ? controller.signal : undefined });
        const signal = who === 'caller' ? controller.signal : undefined;
        const asked = face.request({ url: server.origin, signal });
        setTimeout(() => controller.abort(reason), 20);
        expect(await rejection(asked), who).to.equal(reason);
        expect(await rejection(face.request({ url: server.origin, signal })), who).to.equal(reason);
      }
      await server.idle();
    });

    it('ends a stream between two chunks', async () => {
      const server = await started(
        startRawOrigin((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')),
      );
      const controller = new AbortController();
      const { body } = await clientFor([server]).stream({ url: server.origin, signal: controller.signal });
      const chunks = body[Symbol.asyncIterator]();
      expect(Buffer.from((await chunks.next()).value).toString()).to.equal('half');
      const next = chunks.next();
      controller.abort(reason);
      expect(await rejection(next)).to.equal(reason);
      await server.idle();
    });

    it('closes the connection if the loop is left, or never entered', async () => {
      const server = await origin((_request, response) => {
        const flood = setInterval(() => response.write(Buffer.alloc(65_536)), 5);
        response.on('close', () => clearInterval(flood));
      });
      const client = clientFor([server]);
      const left = await client.stream({ url: server.origin });
      for await (const chunk of left.body) if (chunk.length > 0) break;
      await server.idle();
      const unread = await client.stream({ url: server.origin });
      await unread.body[Symbol.asyncIterator]().return?.();
      await server.idle();
    });

    it('leaves no listener on a signal that outlives its requests', async () => {
      const server = await origin((_request, response) => response.end('ok'));
      const { signal } = new AbortController();
      for (let count = 0; count < 3; count++) {
        const clients = [1, 2].map(() => clientFor([server], { signal }));
        await Promise.all(clients.map((client) => client.request({ url: server.origin })));
      }
      expect(getEventListeners(signal, 'abort')).to.have.length(0);
    });

    it('aborts all requests when the transport closes', async () => {
      const server = await started(startRawOrigin(() => {}));
      const client = clientFor([server]);
      const asked = rejection(client.request({ url: server.origin }));
      await systemClock.sleep(20);
      await transport.close();
      expect(await asked).to.include({ code: 'shutting_down' });
      expect(await rejection(client.request({ url: server.origin }))).to.include({ code: 'shutting_down' });
      await transport.close();
    });
  });

  describe('failures', () => {
    const broken: Readonly<Record<string, string>> = {
      'that are not HTTP': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
      'with a body shorter than announced': 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf',
      'with a chunk size that is none': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n',
      'that end between chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n',
      'with headers beyond measure': `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`,
      'that are nothing at all': '',
      'gzipped only by name': 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n<html>',
      'in a coding nobody asked for': 'HTTP/1.1 200 OK\r\ncontent-encoding: compress\r\ncontent-length: 1\r\n\r\nx',
      'in a coding named like a member of every object':
        'HTTP/1.1 200 OK\r\ncontent-encoding: constructor\r\ncontent-length: 1\r\n\r\nx',
      'coded three times': 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip, br, gzip\r\ncontent-length: 1\r\n\r\nx',
    };
    for (const [what, bytes] of Object.entries(broken)) {
      it(`are errors, not answers: ${what}`, async () => {
        const server = await started(startRawOrigin((socket) => socket.end(bytes, 'latin1')));
        const client = clientFor([server]);
        const error = await rejection(client.request({ url: `${server.origin}/?key=hidden` }));
        expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'upstream_error', retryable: true });
        expect((error as GatewayError).message).not.to.match(/127|hidden|html|SSH/);
        await server.idle();
      });
    }

    it('to connect keep their cause', async () => {
      const server = await startRawOrigin(() => {});
      await server.close();
      const error = await rejection(clientFor([server]).request({ url: server.origin }));
      expect(error).to.include({ code: 'upstream_error', message: 'The server could not be reached.' });
      expect((error as GatewayError).cause).to.include({ code: 'ECONNREFUSED' });
    });

    it('of TLS are errors, of certificate and protocol', async () => {
      const authority = await createCertificateAuthority();
      const unknown = await started(startSecureOrigin(authority.contextFor, (_request, response) => response.end()));
      const plain = await origin((_request, response) => response.end());
      const secureUrl = `https://localhost:${unknown.port}/`;
      const plainUrl = `https://127.0.0.1:${plain.port}/`;
      const client = transport.scoped({ timeoutMs: AMPLE_MS, trustedOrigins: [secureUrl, plainUrl] });
      for (const url of [secureUrl, plainUrl]) {
        const error = await rejection(client.request({ url }));
        expect(error, url).to.include({ code: 'upstream_error' });
        expect((error as GatewayError).message).to.equal('The TLS connection to the origin failed.');
      }
    });

    it('do not affect the next request', async () => {
      let round = 0;
      const server = await origin((_request, response) => {
        if (round++ === 0) response.destroy();
        else response.end('ok');
      });
      const client = clientFor([server]);
      expect(await rejection(client.request({ url: server.origin }))).to.include({
        code: 'upstream_error',
        message: 'The origin closed the connection.',
      });
      expect((await client.request({ url: server.origin })).text()).to.equal('ok');
    });
  });
});
