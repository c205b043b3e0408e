import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { createHealth } from 'mediagate/server';
import { type ListeningApp, startApp } from './listening-app.js';

describe('health', () => {
  let app: ListeningApp;

  before(async () => {
    app = await startApp();
  });
  after(() => app.close());

  it('reports plugins, database and event loop, without a key', async () => {
    const { status, json } = await app.request('/health');
    expect(status).to.equal(200);
    expect(json).to.include({ ok: true, status: 'ok' });
    expect(json.version).to.match(/^\d+\.\d+\.\d+/);
    expect(json.uptime_seconds).to.be.at.least(0);
    expect(json.checks.plugins).to.deep.equal({ ok: true, entries: [{ id: 'invented', state: 'ready' }] });
    expect(json.checks.database.ok).to.equal(true);
    expect(json.checks.event_loop.ok).to.equal(true);
    expect((await app.request('/health/live')).json.ok).to.equal(true);
    expect((await app.request('/health/ready')).json).to.deep.equal({ ok: true, status: 'ready' });
  });

  it('is degraded but serving when a plugin failed, and not ready when the database is away', async () => {
    const plugins = () => [
      {
        id: 'broken',
        plugin: 'broken',
        summary: '',
        state: 'failed',
        reason: 'no key',
        provides: [],
        serves: [],
        required: false,
      } as const,
    ];
    let asked = 0;
    const database = () => {
      asked += 1;
      return Promise.reject(new Error('away'));
    };
    const health = createHealth({ gateway: { plugins }, clock: systemClock, checks: { database } });
    const reports = await Promise.all([health.report(), health.report(), health.readiness()]);
    expect(reports[0]).to.include({ ok: true, status: 'degraded' });
    expect(reports[0]).to.nested.include({ 'checks.database.ok': false, 'checks.plugins.entries[0].reason': 'no key' });
    expect(reports[2]).to.deep.equal({ ok: false, status: 'database_unavailable' });
    expect(asked, 'asked at most once a second').to.equal(1);
    health.close();
  });

  it('does not wait for a check that never answers', async () => {
    const clock = { ...systemClock, sleep: async () => {} };
    const health = createHealth({
      gateway: { plugins: () => [] },
      clock,
      checks: { stuck: () => new Promise(() => {}) },
    });
    expect(await health.readiness()).to.deep.equal({ ok: false, status: 'stuck_unavailable' });
    health.close();
  });
});
