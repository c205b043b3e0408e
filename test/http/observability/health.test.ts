/** The health routes: ready, degraded and their reasons. */

import { expect } from 'chai';
import { type Gateway, systemClock } from 'mediagate';
import { Health } from '../../../server/observability/index.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

/** Nothing is loaded, and whatever a plugin could need is there. */
const idle: Pick<Gateway, 'plugins' | 'platforms' | 'meets'> = {
  plugins: () => [],
  platforms: () => [],
  meets: () => true,
};

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
    expect(json.checks).to.deep.nested.include({
      plugins: { ok: true, entries: [{ id: 'invented', state: 'ready' }] },
      'database.ok': true,
      'event_loop.ok': true,
    });
    expect((await app.request('/health/live')).json.ok).to.equal(true);
    expect((await app.request('/health/ready')).json).to.deep.equal({ ok: true, status: 'ready' });
  });

  it('is degraded but ready when a plugin failed, and not ready without the database', async () => {
    const plugins = () => [
      {
        id: 'broken',
        plugin: 'broken',
        summary: '',
        state: 'failed',
        reason: 'no key',
        provides: [],
        serves: [],
        standIn: false,
        required: false,
        variables: { names: [], switchOff: [] },
        upstreams: [],
      } as const,
    ];
    let asked = 0;
    const database = () => {
      asked += 1;
      return Promise.reject(new Error('away'));
    };
    const health = new Health({
      gateway: { ...idle, plugins },
      wants: [],
      clock: systemClock,
      checks: { database },
    });
    const reports = await Promise.all([health.report(), health.report(), health.readiness()]);
    expect(reports[0]).to.include({ ok: true, status: 'degraded' });
    expect(reports[0]).to.nested.include({ 'checks.database.ok': false, 'checks.plugins.entries[0].reason': 'no key' });
    expect(reports[2]).to.deep.equal({ ok: false, status: 'database_unavailable' });
    expect(asked, 'asked at most once a second').to.equal(1);
    health.close();
  });

  it('lists methods in cool-down, and is degraded if a platform has none left', async () => {
    const features = { async: false, batch: false, audio_mp3: false };
    const of = (key: string, methods: ReturnType<Gateway['platforms']>[number]['methods']) => ({
      key,
      name: key,
      linkForms: [],
      features,
      methods,
      probeLinks: [],
    });
    const coolDown = { code: 'bot_check', seconds: 29 } as const;
    const limited = of('limited', [
      { name: 'page', available: true, coolDown },
      { name: 'embed', available: true },
    ]);
    const out = of('out', [
      { name: 'page', available: true, coolDown },
      { name: 'browser', available: false },
    ]);
    const untold = of('untold', []);
    const reportOf = async (...platforms: (typeof limited)[]) => {
      const gateway = { ...idle, platforms: () => platforms };
      const health = new Health({ gateway, wants: [], clock: systemClock, checks: {} });
      health.close();
      return health.report();
    };
    const resting = [{ method: 'page', code: 'bot_check', seconds: 29 }];
    const informed = await reportOf(limited, untold);
    expect(informed).to.include({ ok: true, status: 'ok' });
    expect(informed)
      .to.have.nested.property('checks.platforms')
      .that.deep.equals({
        ok: true,
        entries: [
          { key: 'limited', ok: true, resting },
          { key: 'untold', ok: true, resting: [] },
        ],
      });
    const degraded = await reportOf(limited, out);
    expect(degraded).to.include({ ok: true, status: 'degraded' });
    expect(degraded)
      .to.have.nested.property('checks.platforms')
      .that.deep.equals({
        ok: false,
        entries: [
          { key: 'limited', ok: true, resting },
          { key: 'out', ok: false, resting },
        ],
      });
  });

  it('is degraded without a wanted browser or ffmpeg', async () => {
    const reportOf = async (wants: ('browser' | 'ffmpeg')[], has: 'browser' | 'ffmpeg') => {
      const gateway = { ...idle, meets: (need: string) => need === has };
      const health = new Health({ gateway, wants, clock: systemClock, checks: {} });
      health.close();
      return health.report();
    };
    expect(await reportOf(['browser', 'ffmpeg'], 'browser')).to.nested.include({
      status: 'degraded',
      'checks.browser.state': 'ready',
      'checks.ffmpeg.ok': false,
      'checks.ffmpeg.state': 'missing',
    });
    expect(await reportOf(['ffmpeg'], 'ffmpeg')).to.nested.include({
      status: 'ok',
      'checks.browser.ok': true,
      'checks.browser.state': 'off',
      'checks.ffmpeg.state': 'ready',
    });
  });

  it('stays ready without optional dependencies', async () => {
    const softChecks = { files: () => Promise.reject(new Error('away')) };
    const health = new Health({ gateway: idle, wants: [], clock: systemClock, checks: {}, softChecks });
    expect(await health.report()).to.nested.include({ status: 'degraded', 'checks.files.ok': false });
    expect(await health.readiness()).to.deep.equal({ ok: true, status: 'ready' });
    health.close();
  });

  it('does not wait for a hanging check', async () => {
    const clock = { ...systemClock, sleep: async () => {} };
    const health = new Health({
      gateway: idle,
      wants: [],
      clock,
      checks: { stuck: () => new Promise(() => {}) },
    });
    expect(await health.readiness()).to.deep.equal({ ok: false, status: 'stuck_unavailable' });
    health.close();
  });
});
