/** Routing and hints for wrong paths. */

import { expect } from 'chai';
import { type ListeningApp, startApp } from './listening-app.js';

describe('routes', () => {
  let app: ListeningApp;

  before(async () => {
    app = await startApp();
  });
  after(() => app.close());

  /** The route that the log names for the last request. */
  const lastRoute = () => app.log.findLast(({ message }) => message === 'request')?.fields?.route;

  for (const [target, method] of [
    ['/health/live', 'GET'],
    ['/health/live?', 'GET'],
    ['/health/live?a=/v1/models', 'GET'],
    ['/health/live', 'HEAD'],
  ] as const) {
    it(`finds ${method} ${target} by its path`, async () => {
      const { status, text } = await app.request(target, { method });
      expect(status).to.equal(200);
      expect(text).to.equal(method === 'HEAD' ? '' : '{"ok":true,"status":"live"}');
      expect(lastRoute()).to.equal('/health/live');
    });
  }

  it('distinguishes routes with a name in their path from those without', async () => {
    const authorization = `Bearer ${await app.makeKey({ grants: ['text'] })}`;
    expect((await app.request('/v1/models', { headers: { authorization } })).json.object).to.equal('list');
    expect(lastRoute()).to.equal('/v1/models');
    expect((await app.request('/v1/models/none', { headers: { authorization } })).status).to.equal(404);
    expect(lastRoute()).to.equal('/v1/models/:id');
  });

  for (const target of ['/health/live/', '/Health/live', '//health/live', '/health/live%3F', '/']) {
    it(`does not find ${target}`, async () => {
      const { status, json } = await app.request(target);
      expect([status, json.error.code]).to.deep.equal([404, 'route_not_found']);
      expect(lastRoute()).to.equal('(none)');
    });
  }

  for (const [target, method, hint] of [
    ['/v1/models/', 'GET', 'There is GET /v1/models: the path has no slash at its end.'],
    ['//v1/models', 'GET', 'There is GET /v1/models: a base URL has no slash at its end.'],
    ['/v1//chat/completions', 'POST', 'There is POST /v1/chat/completions: a base URL has no slash at its end.'],
    ['/v1/v1/embeddings', 'POST', 'There is POST /v1/embeddings: the path has /v1 twice.'],
    ['/models', 'GET', 'There is GET /v1/models: a base URL ends in /v1.'],
    ['/chat/completions/', 'POST', 'There is POST /v1/chat/completions: a base URL ends in /v1.'],
    ['/v1/nothing/', 'GET', ''],
  ] as const) {
    it(`suggests the right route for ${method} ${target}`, async () => {
      const { status, json } = await app.request(target, { method });
      expect([status, json.error.code]).to.deep.equal([404, 'route_not_found']);
      expect(json.error.message).to.equal(`There is no ${method} ${target}.${hint && ` ${hint}`}`);
    });
  }

  it('refuse WebSocket on other routes at once, so that agents turn to HTTP', async () => {
    const answer = await app.raw(
      'GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    expect(answer).to.match(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
    expect(answer).to.match(/\r\nupgrade: HTTP\/1\.1\r\n/i);
    expect(answer).to.include('"code":"upgrade_not_supported"');
  });

  it('answers 405 for another method and lists the allowed ones', async () => {
    const { status, headers } = await app.request('/health/live', { method: 'DELETE' });
    expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
  });
});
