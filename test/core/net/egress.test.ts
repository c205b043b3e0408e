/** HTTP requests and tunnels through an egress proxy. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect } from 'chai';
import { createAddressGuard } from '../../../core/net/egress.js';
import { createHttpTransport, type HttpTransport } from '../../../core/net/http-client.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { createCertificateAuthority } from '../../support/http/certificates.js';
import {
  type OriginServer,
  startOrigin,
  startRawOrigin,
  startSecureOrigin,
} from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

const AMPLE_MS = 20_000;

interface Seen {
  method: string | undefined;
  target: string | undefined;
  host: string | undefined;
  authorization: string | undefined;
}

describe('http through an egress proxy', () => {
  let proxy: Server;
  let proxyUrl: string;
  let transport: HttpTransport | undefined;
  const seen: Seen[] = [];
  const sockets = new Set<Duplex>();
  const servers: OriginServer[] = [];
  /** Tunnels lead here whatever they ask for: names are the proxy's to resolve. */
  let tunnelTo = 0;
  let tunnelStatus = 200;

  before(async () => {
    proxy = createServer((request, response) => {
      note(request);
      response.setHeader('content-type', 'text/plain').end('forwarded');
    });
    proxy.on('connection', (socket: Socket) => sockets.add(socket));
    proxy.on('connect', (request: IncomingMessage, client: Duplex) => {
      note(request);
      client.on('error', () => {});
      if (tunnelStatus !== 200) {
        client.end(`HTTP/1.1 ${tunnelStatus} No\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      const onward = connect(tunnelTo, '127.0.0.1');
      onward.on('error', () => client.destroy());
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.pipe(client).pipe(onward);
      sockets.add(onward);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    seen.length = 0;
    tunnelStatus = 200;
    await transport?.close();
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  after(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await once(proxy, 'close');
  });

  function note({ method, url, headers }: IncomingMessage): void {
    seen.push({ method, target: url, host: headers.host, authorization: headers['proxy-authorization'] });
  }

  function clientVia(egressProxyUrl: string, trustedOrigins: readonly string[] = [], timeoutMs = AMPLE_MS) {
    const guard = createAddressGuard({ resolve: () => expect.fail('a name was resolved on this side of the proxy') });
    transport = createHttpTransport({ guard, egressProxyUrl });
    return transport.scoped({ timeoutMs, trustedOrigins });
  }

  it('forwards plain requests by their whole URL, without resolving names', async () => {
    const response = await clientVia(proxyUrl).request({ url: 'http://example.com/a?b=c#d' });
    expect(response.text()).to.equal('forwarded');
    expect(seen).to.deep.equal([
      { method: 'GET', target: 'http://example.com/a?b=c', host: 'example.com', authorization: undefined },
    ]);
  });

  it('sends secure requests through a tunnel, under their own name', async () => {
    const authority = await createCertificateAuthority();
    const names: string[] = [];
    const server = await startSecureOrigin(
      (name) => {
        names.push(name);
        return authority.contextFor(name);
      },
      (_request, response) => response.end('never trusted'),
    );
    servers.push(server);
    tunnelTo = server.port;
    const error = await rejection(clientVia(proxyUrl).request({ url: 'https://example.com/' }));
    // The tunnel stands; that the certificate is of nobody we know is noticed through it.
    expect(error).to.include({ code: 'upstream_error', message: 'The TLS connection to the origin failed.' });
    expect(names).to.deep.equal(['example.com']);
    expect(seen[0]).to.include({ method: 'CONNECT', target: 'example.com:443', authorization: undefined });
  });

  it('still refuses private targets, in URLs and redirects', async () => {
    const client = clientVia(proxyUrl);
    for (const url of [
      'http://127.0.0.1/',
      'http://169.254.169.254/',
      'https://[::1]/',
      'http://localhost/',
      'https://a.example:8443/',
    ]) {
      expect(await rejection(client.request({ url })), url).to.include({ code: 'upstream_refused' });
    }
    expect(seen).to.deep.equal([]);
  });

  it('follows no redirect into a private range', async () => {
    const trusted = 'http://10.1.2.3:9';
    const redirecting = await startOrigin((_request, response) =>
      response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
    );
    servers.push(redirecting);
    const error = await rejection(
      clientVia(redirecting.origin, [trusted]).request({ url: `${trusted}/`, maxRedirects: 5 }),
    );
    expect(error).to.include({ code: 'upstream_refused' });
    expect(redirecting.connections).to.equal(1);
  });

  it('reaches trusted private origins through the proxy too', async () => {
    const trusted = 'http://10.1.2.3:9000';
    await clientVia(proxyUrl, [trusted]).request({ url: `${trusted}/x` });
    expect(seen.map(({ target }) => target)).to.deep.equal([`${trusted}/x`]);
  });

  it('bypasses the proxy for trusted origins of this machine', async () => {
    const here = await startOrigin((_request, response) => response.end('here'));
    servers.push(here);
    const named = here.origin.replace('127.0.0.1', 'localhost');
    const client = clientVia(proxyUrl, [here.origin, named]);
    for (const url of [here.origin, named]) expect((await client.request({ url })).text()).to.equal('here');
    expect(seen).to.deep.equal([]);
  });

  it('sends its credentials only to the proxy, for requests and tunnels', async () => {
    tunnelStatus = 403;
    const client = clientVia(proxyUrl.replace('//', '//user:p%40ss%3Aword@'));
    await client.request({ url: 'http://example.com/' });
    await rejection(client.request({ url: 'https://example.com/' }));
    const authorization = `Basic ${Buffer.from('user:p@ss:word').toString('base64')}`;
    expect(seen.map((request) => request.authorization)).to.deep.equal([authorization, authorization]);
  });

  for (const status of [403, 407, 502]) {
    it(`reports a refused tunnel (${status}) without credentials`, async () => {
      tunnelStatus = status;
      const client = clientVia(proxyUrl.replace('//', '//user:hunter2@'));
      const error = await rejection(client.request({ url: 'https://example.com/' }));
      expect(error).to.include({
        code: 'upstream_error',
        message: 'The egress proxy refused the request.',
      });
      expect(String((error as GatewayError).cause)).not.to.match(/hunter2|dXNlcjpodW50ZXIy/);
    });
  }

  it('reports a refused request (407)', async () => {
    const asking = await startOrigin((_request, response) => {
      response.writeHead(407, { 'proxy-authenticate': 'Basic' }).end('who are you?');
    });
    servers.push(asking);
    const error = await rejection(clientVia(asking.origin).request({ url: 'http://example.com/' }));
    expect(error).to.include({ code: 'upstream_error' });
  });

  it('reports an unavailable origin if the proxy is unavailable, silent or no proxy', async () => {
    const gone = await startRawOrigin(() => {});
    await gone.close();
    const silent = await startRawOrigin(() => {});
    const cutting = await startRawOrigin((socket) => socket.destroy());
    const foreign = await startRawOrigin((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n\r\n'));
    servers.push(silent, cutting, foreign);
    const expected = [
      [gone, 'upstream_error'],
      [silent, 'upstream_timeout'],
      [cutting, 'upstream_error'],
      [foreign, 'upstream_error'],
    ] as const;
    for (const [server, code] of expected) {
      for (const url of ['http://example.com/', 'https://example.com/']) {
        const error = await rejection(clientVia(server.origin, [], 300).request({ url }));
        expect(error, url).to.be.instanceOf(GatewayError).and.to.include({ code });
        await transport?.close();
      }
    }
  });

  it('refuses a proxy that is no http URL, and does not repeat it', () => {
    for (const url of [
      'socks5://user:hunter2@proxy:1080',
      'user:hunter2@proxy:3128',
      'http://user:hunter2@pro xy',
      '',
    ]) {
      expect(() => clientVia(url))
        .to.throw('http or https URL')
        .and.not.match(/hunter2/);
    }
  });
});
