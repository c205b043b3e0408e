/** Private servers that an operator configures for one entry. */

import { expect } from 'chai';
import { createGateway, definePlugin, type Gateway, type HttpClient, type Plugin } from 'mediagate';
import { Type } from 'mediagate/plugin';
import { inventedExtractor } from '../../support/links/invented-plugin.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

const Options = Type.Object({ servers: Type.Unknown() });

describe('servers in the options of a plugin', () => {
  let server: OriginServer;
  let other: OriginServer;
  let gateway: Gateway | undefined;
  before(async () => {
    server = await startOrigin((_request, response) => response.end('reached'));
    other = await startOrigin((_request, response) => response.end('reached'));
  });
  afterEach(() => gateway?.close());
  after(() => Promise.all([server.close(), other.close()]));

  function client(kind: 'text' | 'extractor', name: string, clients: Map<string, HttpClient>): Plugin {
    return definePlugin<typeof Options>({
      name,
      apiVersion: 1,
      summary: 'Asks what it is told to.',
      provides: [kind],
      options: Options,
      setup(context) {
        clients.set(name, context.http);
        if (kind === 'extractor') return { extractors: [inventedExtractor()] };
        const send = () => Promise.reject(new Error('no request is sent'));
        return { textProviders: [{ models: [{ id: name, routes: ['responses'], efforts: [] }], send }] };
      },
    }) as Plugin;
  }

  /** Clients of two providers, one with the options, and of an extractor with the same options. */
  async function clientsOf(servers: unknown) {
    const clients = new Map<string, HttpClient>();
    gateway = await createGateway({
      plugins: [
        { use: client('text', 'named', clients), options: { servers } },
        { use: client('text', 'unnamed', clients), options: { servers: [] } },
        { use: client('extractor', 'links', clients), options: { servers } },
      ],
    });
    const clientOf = (name: string) => {
      const http = clients.get(name);
      if (!http) throw new Error(JSON.stringify(gateway?.plugins()));
      return http;
    };
    return { named: clientOf('named'), unnamed: clientOf('unnamed'), links: clientOf('links') };
  }

  it('are reachable only for that plugin, on exactly that origin', async () => {
    const before = other.connections;
    const { named, unnamed, links } = await clientsOf([{ url: `${server.origin}/v1` }]);
    const url = `${server.origin}/v1/models`;
    expect((await named.request({ url })).text()).to.equal('reached');
    for (const http of [unnamed, links]) {
      expect(await rejection(http.request({ url }))).to.include({ code: 'upstream_refused' });
      expect(await rejection(http.stream({ url }))).to.include({ code: 'upstream_refused' });
    }
    const own = gateway?.httpClient({ timeoutMs: 5_000 });
    expect(own && (await rejection(own.request({ url })))).to.include({ code: 'upstream_refused' });
    for (const elsewhere of [
      other.origin,
      `https://127.0.0.1:${server.port}`,
      `http://localhost:${server.port}`,
      `http://127.0.0.2:${server.port}`,
      'http://127.0.0.1',
    ]) {
      expect(await rejection(named.request({ url: elsewhere })), elsewhere).to.include({ code: 'upstream_refused' });
    }
    expect(other.connections).to.equal(before);
  });

  it('may be several, at any depth, by an address or by a name of this machine', async () => {
    const { named } = await clientsOf({ deep: [{ url: `HTTP://LocalHost:${server.port}/v1` }], more: other.origin });
    expect((await named.request({ url: `http://localhost:${server.port}/` })).text()).to.equal('reached');
    expect((await named.request({ url: other.origin })).text()).to.equal('reached');
  });
});
