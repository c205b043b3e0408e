/** The forward proxy that guards the browser's requests. */

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { type ForwardProxy, type IssuedPass, startForwardProxy } from '../../../core/browser/filtering-proxy.js';
import { createAddressGuard, readProxyUrl } from '../../../core/net/egress.js';
import { type OriginServer, startOrigin, startRawOrigin } from '../../support/links/origin-server.js';
import { until } from '../../support/until.js';

describe('the forward proxy of the browser', () => {
  let origin: OriginServer;
  let proxy: ForwardProxy;
  let pass: IssuedPass;
  const seen: { method?: string; target?: string; fields: string[]; body: string }[] = [];
  const others: { close(): Promise<void> }[] = [];

  beforeEach(async () => {
    seen.length = 0;
    origin = await startOrigin((request, response) => {
      text(request).then(
        (body) => {
          const { method, url, rawHeaders } = request;
          seen.push({ method, target: url, fields: rawHeaders, body });
          if (url === '/hang') return;
          response.writeHead(201, 'Made', [
            'set-cookie',
            'a=1',
            'set-cookie',
            'b=2',
            'connection',
            'close',
            'x-y',
            'z',
          ]);
          response.end(url === '/large' ? Buffer.alloc(300_000) : body);
        },
        () => {},
      );
    });
    await start();
  });

  afterEach(async () => {
    await proxy.close();
    await Promise.all([origin, ...others.splice(0)].map((one) => one.close()));
  });

  async function start(egressProxyUrl?: string, limits: { maxBytes?: number; maxConnections?: number } = {}) {
    await proxy?.close().catch(() => {});
    proxy = await startForwardProxy({
      guard: createAddressGuard({ resolve: async () => ['10.0.0.1'] }),
      ...(egressProxyUrl !== undefined && { egressProxy: readProxyUrl(egressProxyUrl) }),
    });
    pass = proxy.issue({ trustedOrigins: [origin.origin], maxBytes: 200_000, maxConnections: 4, ...limits });
  }

  const credentialsOf = ({ username, password }: { username: string; password: string }) =>
    `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

  interface Asked {
    method?: string;
    headers?: Record<string, string>;
    body?: string;
    as?: { username: string; password: string };
  }

  /** An absolute-form request; a rejection where the connection is cut. */
  async function ask(url: string, { method = 'GET', headers = {}, body = '', as = pass }: Asked = {}) {
    const request = httpRequest({
      port: proxy.port,
      method,
      path: url,
      headers: { host: 'wrong.example', 'proxy-authorization': credentialsOf(as), ...headers },
    });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  }

  it('forwards an answer with any reason phrase', async () => {
    const odd = await startRawOrigin((socket) => {
      socket.end('HTTP/1.1 200 \u0001\u0080\r\ncontent-length: 4\r\nconnection: close\r\n\r\nodd!');
    });
    others.push(odd);
    const as = proxy.issue({ trustedOrigins: [odd.origin], maxBytes: 200_000, maxConnections: 4 });
    const { status, body } = await ask(`${odd.origin}/`, { as });
    expect([status, body]).to.deep.equal([200, 'odd!']);
  });

  /** A tunnel, and what the proxy said to it. */
  async function tunnel(target: string, as: { username: string; password: string } = pass) {
    const socket = connect(proxy.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\nproxy-authorization: ${credentialsOf(as)}\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    const end = head.indexOf('\r\n\r\n') + 4;
    socket.pause();
    if (end < head.length) socket.unshift(head.subarray(end));
    return { socket, status: Number(head.toString('latin1').split(' ')[1]) };
  }

  const closed = (socket: Socket) => {
    socket.resume();
    return socket.closed ? undefined : once(socket, 'close');
  };

  const authority = () => origin.origin.replace('http://', '');

  it('forwards a request unchanged without hop-by-hop fields', async () => {
    const answer = await ask(`${origin.origin}/a?b=c`, {
      method: 'POST',
      body: 'hello',
      headers: { 'x-own': '1', cookie: 'c=d', te: 'trailers', 'proxy-connection': 'keep-alive', upgrade: 'h2c' },
    });
    expect(answer).to.include({ status: 201, body: 'hello' });
    expect(answer.headers)
      .to.include({ 'x-y': 'z' })
      .and.to.deep.include({ 'set-cookie': ['a=1', 'b=2'] });
    const [{ fields, ...request } = { fields: [] as string[] }] = seen;
    expect(request).to.deep.equal({ method: 'POST', target: '/a?b=c', body: 'hello' });
    const names = fields.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names).to.include.members(['host', 'x-own', 'cookie', 'content-length']);
    expect(names).not.to.include.oneOf([
      'te',
      'proxy-authorization',
      'proxy-connection',
      'upgrade',
      'via',
      'forwarded',
    ]);
    expect(fields[fields.indexOf('host') + 1]).to.equal(authority());
    expect(fields).not.to.include('wrong.example');
  });

  it('passes every byte of a tunnel in both directions', async () => {
    await start(undefined, { maxBytes: 1_000_000 });
    const { socket, status } = await tunnel(authority());
    expect(status).to.equal(200);
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    const answer = await text(socket);
    expect(answer)
      .to.match(/^HTTP\/1\.1 201 Made/)
      .and.to.have.length.greaterThan(300_000);
  });

  it('refuses clients without a pass', async () => {
    const strangers = [
      { username: '', password: '' },
      { username: pass.username, password: '' },
      { username: pass.username, password: `${pass.password.slice(0, -1)}!` },
      { username: 'x', password: pass.password },
    ];
    for (const as of strangers) {
      const { status, headers } = await ask(`${origin.origin}/`, { as });
      expect([status, headers['proxy-authenticate']]).to.deep.equal([407, 'Basic realm="mediagate"']);
      expect((await tunnel(authority(), as)).status).to.equal(407);
    }
    pass.revoke();
    expect((await ask(`${origin.origin}/`)).status).to.equal(407);
    expect((await tunnel(authority())).status).to.equal(407);
    expect(origin.connections).to.equal(0);
  });

  it('listens only on the loopback interface', async () => {
    const foreign = connect(proxy.port, '::1');
    const [error] = (await once(foreign, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).to.be.oneOf(['ECONNREFUSED', 'EADDRNOTAVAIL']);
  });

  it('refuses what the guard refuses, for requests and tunnels', async () => {
    const { port } = origin;
    const hosts = ['127.0.0.1', '127.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', 'localhost', 'rebound.example'];
    for (const host of [...hosts, '10.0.0.1', '169.254.169.254', '0.0.0.0']) {
      expect((await ask(`http://${host}/`)).status, host).to.equal(403);
      for (const target of [`${host}:80`, `${host}:443`]) {
        expect((await tunnel(target)).status, target).to.equal(403);
      }
    }
    // Only the origin as the operator wrote it is trusted.
    for (const host of ['localhost', '[::1]', '[::ffff:127.0.0.1]', 'rebound.example']) {
      expect((await ask(`http://${host}:${port}/`)).status, host).to.equal(403);
      expect((await tunnel(`${host}:${port}`)).status, host).to.equal(403);
    }
    expect((await tunnel('example.com:22')).status).to.equal(403);
    expect(pass.refusals).to.equal(10 * 3 + 4 * 2 + 1);
    expect(origin.connections).to.equal(0);
  });

  it('refuses requests that are not for a proxy', async () => {
    for (const url of ['/', 'https://example.com/', 'file:///etc/passwd', 'http://']) {
      expect((await ask(url)).status, url).to.equal(400);
    }
    for (const target of ['example.com', 'a:b', 'user@example.com:443', 'example.com:443/x', '']) {
      expect((await tunnel(target)).status, target).to.be.oneOf([400, 403]);
    }
  });

  it('reports an unavailable origin', async () => {
    const gone = await startRawOrigin(() => {});
    await gone.close();
    const other = proxy.issue({ trustedOrigins: [gone.origin], maxBytes: 1_000, maxConnections: 1 });
    expect((await ask(`${gone.origin}/`, { as: other })).status).to.equal(502);
    expect((await tunnel(gone.origin.replace('http://', ''), other)).status).to.equal(502);
  });

  it('ends all connections of a used-up pass, and no others', async () => {
    const other = proxy.issue({ trustedOrigins: [origin.origin], maxBytes: 200_000, maxConnections: 4 });
    const [idle, kept] = await Promise.all([tunnel(authority()), tunnel(authority(), other)]);
    const cut = await ask(`${origin.origin}/large`).catch((error: unknown) => error);
    expect(cut).to.be.instanceOf(Error);
    await pass.spent;
    await closed(idle.socket);
    expect((await ask(`${origin.origin}/`)).status).to.equal(403);
    expect(kept.socket.destroyed).to.equal(false);
    expect((await ask(`${origin.origin}/`, { as: other })).status).to.equal(201);
  });

  it('limits connections, and frees their places', async () => {
    const open = await Promise.all(Array.from({ length: 4 }, () => tunnel(authority())));
    expect(open.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    expect((await tunnel(authority())).status).to.equal(503);
    expect((await ask(`${origin.origin}/`)).status).to.equal(503);
    for (const { socket } of open) socket.destroy();
    await origin.idle();
    expect((await tunnel(authority())).status).to.equal(200);
  });

  it('ends running transfers when a pass is revoked', async () => {
    const waiting = ask(`${origin.origin}/hang`).catch((error: unknown) => error);
    const { socket } = await tunnel(authority());
    await until(() => seen.length);
    pass.revoke();
    expect(await waiting).to.be.instanceOf(Error);
    await closed(socket);
    await origin.idle();
  });

  it('closes the connection to an origin when the client leaves', async () => {
    const { socket } = await tunnel(authority());
    const request = httpRequest({
      port: proxy.port,
      path: `${origin.origin}/hang`,
      headers: { 'proxy-authorization': credentialsOf(pass) },
    });
    request.on('error', () => {});
    request.end();
    await until(() => seen.length);
    socket.destroy();
    request.destroy();
    await origin.idle();
  });

  describe('behind the proxy of the operator', () => {
    const targets: { method?: string; url?: string; authorization?: string; host?: string }[] = [];
    let status = 200;
    let egressUrl: string;

    beforeEach(async () => {
      targets.length = 0;
      status = 200;
      const note = ({ method, url, headers }: IncomingMessage) =>
        targets.push({ method, url, authorization: headers['proxy-authorization'], host: headers.host });
      const sockets = new Set<Socket>();
      const egress = createServer((request, response) => {
        note(request);
        response.end(`forwarded ${request.url}`);
      });
      egress.on('connection', (socket: Socket) => sockets.add(socket));
      egress.on('connect', (request, client: Socket) => {
        note(request);
        client.on('error', () => {});
        if (status !== 200) client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
        else client.write('HTTP/1.1 200 OK\r\n\r\nfirst bytes');
      });
      egress.listen(0, '127.0.0.1');
      await once(egress, 'listening');
      egressUrl = `http://user:p%40ss@127.0.0.1:${(egress.address() as AddressInfo).port}`;
      others.push({
        async close() {
          for (const socket of sockets) socket.destroy();
          egress.close();
          await once(egress, 'close');
        },
      });
      await start(egressUrl);
    });

    const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;

    it('sends requests and tunnels through it, with its credentials, and does not resolve names', async () => {
      expect((await ask('http://example.com/a?b')).body).to.equal('forwarded http://example.com/a?b');
      const { socket, status } = await tunnel('example.com:443');
      expect(status).to.equal(200);
      const [first] = (await once(socket.resume(), 'data')) as [Buffer];
      expect(first.toString()).to.equal('first bytes');
      expect(targets).to.deep.equal([
        { method: 'GET', url: 'http://example.com/a?b', authorization, host: 'example.com' },
        { method: 'CONNECT', url: 'example.com:443', authorization, host: 'example.com:443' },
      ]);
    });

    it('still applies the guard to literal addresses', async () => {
      for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1']) {
        expect((await ask(`http://${host}/`)).status).to.equal(403);
        expect((await tunnel(`${host}:443`)).status).to.equal(403);
      }
      expect(targets).to.deep.equal([]);
    });

    it('passes a refusal on as a failure', async () => {
      status = 407;
      expect((await tunnel('example.com:443')).status).to.equal(502);
    });

    it('ends its tunnels with the pass', async () => {
      const { socket } = await tunnel('example.com:443');
      pass.revoke();
      await closed(socket);
    });
  });
});
