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
    it(`are found by their path: ${method} ${target}`, async () => {
      const { status, text } = await app.request(target, { method });
      expect(status).to.equal(200);
      expect(text).to.equal(method === 'HEAD' ? '' : '{"ok":true,"status":"live"}');
      expect(lastRoute()).to.equal('/health/live');
    });
  }

  it('with a name in their path are told from those without', async () => {
    const authorization = `Bearer ${await app.makeKey({ grants: ['text'] })}`;
    expect((await app.request('/v1/models', { headers: { authorization } })).json.object).to.equal('list');
    expect(lastRoute()).to.equal('/v1/models');
    expect((await app.request('/v1/models/none', { headers: { authorization } })).status).to.equal(404);
    expect(lastRoute()).to.equal('/v1/models/:id');
  });

  for (const target of ['/health/live/', '/Health/live', '//health/live', '/health/live%3F', '/']) {
    it(`are not found by another path: ${target}`, async () => {
      const { status, json } = await app.request(target);
      expect([status, json.error.code]).to.deep.equal([404, 'route_not_found']);
      expect(lastRoute()).to.equal('(none)');
    });
  }

  it('are refused by another method, and say which they have', async () => {
    const { status, headers } = await app.request('/health/live', { method: 'DELETE' });
    expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
  });
});
