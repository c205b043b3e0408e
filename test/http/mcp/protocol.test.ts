/** The endpoint for agents: both revisions, who may call it, its limits, and what it costs. */

import { expect } from 'chai';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { connect, MODERN, modernClient } from './client.js';

const PAGE = 'https://tool.example';

describe('endpoint for agents', function () {
  this.timeout(60_000);
  let app: ListeningApp;
  let key: string;

  before(async () => {
    app = await startApp({ corsOrigins: [PAGE] });
    key = await app.makeKey();
  });
  after(() => app?.close());

  const post = (body: unknown, headers: Record<string, string> = {}) =>
    app.request('/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  describe('of revision 2025-11-25', () => {
    it('greets the client of the SDK, without a session', async () => {
      const client = await connect(app, key);
      expect(client.getServerVersion()).to.deep.include({ name: 'mediagate' });
      expect(client.getServerCapabilities()).to.have.all.keys('tools', 'tasks');
      expect(client.getInstructions()).to.include('content_from_outside');
      expect(client.transport?.sessionId).to.equal(undefined);
      await client.ping();
      await client.close();
    });

    it('answers a request without a handshake, as any process of any node', async () => {
      const { status, text } = await post(LIST, { 'mcp-protocol-version': '2025-11-25' });
      expect(status).to.equal(200);
      expect(text).to.include('get_link_data');
    });

    it('answers a client that takes no events in one piece', async () => {
      const { status, json } = await post(LIST, { accept: '*/*' });
      expect(status).to.equal(200);
      expect(json.result.tools[0].name).to.equal('get_link_data');
    });

    it('takes notifications', async () => {
      const { status, text } = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
      expect({ status, text }).to.deep.equal({ status: 202, text: '' });
    });
  });

  describe('of revision 2026-07-28', () => {
    it('describes itself', async () => {
      const { json } = await modernClient(app, key).send('server/discover');
      expect(json.result.supportedVersions).to.include(MODERN);
      expect(json.result.capabilities.extensions).to.deep.equal({ 'io.modelcontextprotocol/tasks': {} });
      expect(json.result.capabilities).not.to.have.any.keys('tasks');
    });

    it('answers in one piece', async () => {
      const { status, headers, json } = await modernClient(app, key).call('get_link_data', { url: LINK });
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.match(/^application\/json/);
      expect(json.result.structuredContent.data.metrics).to.deep.equal({ views: 7 });
    });

    it('refuses a header that contradicts the body', async () => {
      const { status, json } = await modernClient(app, key).call('get_usage', {}, { headers: { 'mcp-name': 'speak' } });
      expect(status).to.equal(400);
      expect(json.error.code).to.equal(-32020);
    });

    it('has no subscriptions', async () => {
      const { text } = await modernClient(app, key).send('subscriptions/listen', { notifications: {} });
      expect(text).to.include('error');
    });

    it('refuses a revision that does not exist', async () => {
      const { json } = await modernClient(app, key).send(
        'tools/list',
        {},
        { headers: { 'mcp-protocol-version': '2031-01-01' } },
      );
      expect(json.error).to.be.an('object');
    });
  });

  it('is named by the text for language models', async () => {
    const { status, text, headers } = await app.request('/llms.txt');
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    expect(text).to.match(/^# mediagate\n\n> /);
    for (const [, target = ''] of text.matchAll(/\]\((http[^)]+)\)/g)) {
      expect((await app.request(target.slice(app.url.length))).status, target).not.to.equal(404);
    }
  });

  it('accepts POST alone', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await app.request('/mcp', { method, headers: { authorization: `Bearer ${key}` } });
      expect(status).to.equal(405);
      expect(headers.get('allow')).to.equal('POST');
    }
  });

  it('needs a key, and says how it is sent', async () => {
    const { status, headers, json } = await post(LIST, { authorization: '' });
    expect(status).to.equal(401);
    expect(headers.get('www-authenticate')).to.match(/^Bearer/);
    expect(json.error.code).to.be.oneOf(['missing_api_key', 'invalid_api_key']);
    const revoked = await app.makeKey({}, { revokedAt: Date.now() - 1 } as object);
    expect((await post(LIST, { authorization: `Bearer ${revoked}` })).status).to.equal(401);
  });

  it('takes pages of its own origin and of CORS_ORIGINS alone', async () => {
    for (const origin of [app.url, PAGE, 'http://localhost:6274'])
      expect((await post(LIST, { origin })).status, origin).to.equal(200);
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      const { status, json } = await post(LIST, { origin });
      expect(status, origin).to.equal(403);
      expect(json.error.code).to.equal('origin_not_allowed');
    }
    const preflight = await app.request('/mcp', {
      method: 'OPTIONS',
      headers: {
        origin: PAGE,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,mcp-protocol-version',
      },
    });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-headers')).to.include('mcp-protocol-version');
  });

  it('is not reached under the name of another host on loopback', async () => {
    const body = JSON.stringify(LIST);
    const ask = (host: string) =>
      app.raw(
        `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
          `Accept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
    for (const host of ['evil.example', `evil.example:${app.port}`, '127.0.0.1.evil.example']) {
      expect(await ask(host), host).to.match(/^HTTP\/1.1 403 /);
    }
    for (const host of [`localhost:${app.port}`, `127.0.0.1:${app.port}`, '[::1]']) {
      expect(await ask(host), host).to.match(/^HTTP\/1.1 200 /);
    }
  });

  it('refuses large, deep and broken bodies', async () => {
    const padding = 'x'.repeat(10 * 1024 * 1024);
    const large = await post({ ...LIST, params: { name: 'get_usage', arguments: { padding } } });
    expect(large.status).to.equal(413);
    expect((await post('{"jsonrpc":')).json.error.code).to.equal('invalid_json');
    expect((await post({ method: 'tools/list' })).json.error.param).to.equal('jsonrpc');
    expect((await post({ jsonrpc: '2.0', id: 1, method: 5 })).json.error.param).to.equal('method');
    expect((await post('['.repeat(5_000))).status).to.equal(400);
    expect((await post('x', { 'content-type': 'text/plain' })).status).to.equal(415);
    const many = await post({ ...LIST, params: { list: Array.from({ length: 30_000 }, () => 1) } });
    expect(many.status).to.equal(413);
  });

  it('lets no call through beyond the rate limit', async () => {
    const limited = modernClient(app, await app.makeKey({ rpm: 5 }));
    const call = () => limited.call('get_link_data', { url: LINK });
    const answers = await Promise.all(Array.from({ length: 200 }, call));
    const results = answers.map(({ json }) => json.result);
    expect(results.filter(({ isError }) => !isError)).to.have.length(5);
    const refused = results.filter(({ isError }) => isError);
    for (const { content, _meta } of refused) {
      expect(content[0].text).to.match(/^rate_limit_exceeded: .* Retry after \d+ s\.$/);
      expect(_meta['mediagate/error']).to.deep.include({ code: 'rate_limit_exceeded', retryable: true });
    }
  });

  it('counts each call as a request of its route', async () => {
    const own = await app.makeKey();
    await modernClient(app, own).call('get_link_data', { url: LINK });
    await app.state.usage.flushCounts();
    const headers = { authorization: `Bearer ${own}` };
    const { json } = await app.request('/v1/usage/daily?by=route', { headers });
    expect(json.data.map(({ name, requests }: { name: string; requests: number }) => [name, requests])).to.deep.equal([
      ['/v1/extract', 1],
    ]);
  });

  it('keeps nothing of clients that leave', async () => {
    const gone = Array.from({ length: 50 }, async () => {
      const leaving = new AbortController();
      const asked = modernClient(app, key).call('get_link_data', { url: LINK }, { signal: leaving.signal });
      setTimeout(() => leaving.abort(), 1);
      await asked.catch(() => undefined);
    });
    await Promise.all(gone);
    const { json } = await modernClient(app, key).call('get_link_data', { url: LINK });
    expect(json.result.structuredContent.platform).to.equal('invented');
    expect(app.log.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });
});
