/** The status page, without scripts, and the commands for incidents. */

import { userInfo } from 'node:os';
import { expect } from 'chai';
import { load } from 'cheerio';
import { definePlugin, type TextProvider } from 'mediagate';
import echoText from 'mediagate/plugins/echo_text';
import { systemClock } from '../../../core/runtime/index.js';
import { LOCALES } from '../../../server/site/language/index.js';
import { statusPage } from '../../../server/site/pages/status.js';
import { type ServiceReport, ServiceStatus } from '../../../server/status/index.js';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type CommandResult, runCommand } from '../../support/processes/command-line.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const HOSTILE = `"><script>alert(1)</script>\u202e`;
const HOUR_MS = 3_600_000;
const upstreams = [
  { name: 'secret-upstream', isCoolingDown: false, tries: 0, failures: 0 },
  { name: 'https://secret.example', isCoolingDown: false, tries: 0, failures: 0 },
];

/** A connected provider with two upstreams whose breakers the tests open. */
const connected = definePlugin({
  name: 'connected',
  apiVersion: 1,
  summary: 'An invented provider.',
  provides: ['text'],
  setup: () => ({
    textProviders: [
      {
        models: [{ id: 'big-1', routes: ['chat_completions'], efforts: [] }],
        send: () => Promise.reject(new Error('nobody asks it')),
        upstreams: () => upstreams,
      } satisfies TextProvider,
    ],
  }),
});

describe('status page', () => {
  let app: SignInApp;
  const checks = { database: { ok: true, ms: 1 }, files: { ok: true, ms: 1 } };

  before(async () => {
    app = await startSignInApp({
      catalogue: { ...PRICED_PLANS, furtherGrants: [{ planId: 'free', grants: ['extract'] }] },
      paymentReceiver: EURO_RECEIVER,
      plugins: [
        { use: invented() },
        { use: echoText, options: { model: 'm-5.5' } },
        { use: echoText, id: 'second', options: { model: HOSTILE } },
        { use: connected },
      ],
    });
  });
  after(() => app?.close());

  /** A report is up to ten seconds old, so each test asks a new one. */
  const fresh = () => {
    const { probes, incidents, statusHistory: history } = app.state;
    return new ServiceStatus({
      ...{ gateway: app.gateway, health: { checks: async () => checks }, probes, history, incidents },
      ...{ acceptsOrders: true, canSignIn: () => true, clock: systemClock },
    });
  };
  const stateOf = ({ parts }: ServiceReport, id: string) => parts.find((part) => part.id === id)?.state;
  const read = async (browser = createBrowserSession()) => {
    const { status, text } = await browser.send(`${app.url}/status`);
    return { status, text, page: load(text) };
  };
  const run = (...args: string[]): Promise<CommandResult> =>
    runCommand(['incidents', ...args], { DATA_DIR: app.dataDir });

  it('names the parts by their models and platforms, and no upstream, host or key', async () => {
    const { status, text, page } = await read();
    expect(status).to.equal(200);
    const names = page('.status-parts h3')
      .toArray()
      .map((one) => page(one).text());
    expect(names).to.include.members(['Database', 'Background jobs', 'Payments', 'Text big-1', 'Invented']);
    expect(names.filter((name) => name.includes('m-5.5'))).to.deep.equal([`Text m-5.5, ${HOSTILE}`]);
    const mock = page('.status-parts li:not(.status-scale)').filter((_, one) => page(one).text().includes('m-5.5'));
    expect(mock.find('.badge').text()).to.equal('Mock');
    // A mock has no band. In the first hour the others have no share yet.
    expect(mock.find('.band')).to.have.length(0);
    expect(page('.status-parts .band')).to.have.length(8);
    expect(page('.status-parts .figures').first().text()).to.equal('–');
    for (const hidden of ['secret', 'connected', 'DE8937', '<script>alert']) expect(text).not.to.contain(hidden);
    expect(page('.status-overall').text()).to.contain('The gateway is operational');
    expect(Buffer.byteLength(text)).to.be.below(80_000);
  });

  it('tells a provider that fails over from one that is down, and the gateway from its providers', async () => {
    upstreams[0]!.isCoolingDown = true;
    expect(stateOf(await fresh().report(), 'model:connected')).to.equal('degraded');
    upstreams[1]!.isCoolingDown = true;
    expect(stateOf(await fresh().report(), 'model:connected')).to.equal('down');
    for (const one of upstreams) one.isCoolingDown = false;
    checks.files.ok = false;
    const report = await fresh().report();
    checks.files.ok = true;
    expect([stateOf(report, 'files'), stateOf(report, 'jobs'), stateOf(report, 'database')]).to.deep.equal([
      ...['down', 'degraded', 'ok'],
    ]);
  });

  it('shows the result of the last live probe, which degrades its platform for a day', async () => {
    const record = (at: number) => app.state.probes.record([{ platform: 'invented', at, passed: 11, failed: 1 }]);
    await record(Date.now() - 25 * HOUR_MS);
    expect(stateOf(await fresh().report(), 'platform:invented')).to.equal('ok');
    await record(Date.now() - HOUR_MS);
    const found = (await fresh().report()).parts.find(({ id }) => id === 'platform:invented');
    expect(found).to.deep.include({ state: 'degraded' });
    expect(found).to.have.nested.property('probe.passed', 11);
  });

  it('notes the states of now, and has them in the last of 48 spans', async () => {
    upstreams[0]!.isCoolingDown = true;
    await fresh().note();
    upstreams[0]!.isCoolingDown = false;
    const { parts } = await fresh().report();
    const historyOf = (id: string) => parts.find((part) => part.id === id)?.history;
    expect(historyOf('model:connected')?.states).to.deep.equal([...Array(47).fill(undefined), 'degraded']);
    expect(historyOf('database')?.states.at(-1)).to.equal('ok');
  });

  it('draws bands from the first hour on, for all parts but mocks', async () => {
    const { parts } = await fresh().report();
    const states = parts.map(({ id }) => ({ id, state: 'ok' as const }));
    for (let minutes = 70; minutes >= 5; minutes -= 5)
      await app.state.statusHistory.record(states, Date.now() - minutes * 60_000);
    const { at, since, incidents, parts: now } = await fresh().report();
    const { content } = statusPage({ report: { at, since, incidents, parts: now }, hasLinks: true }, LOCALES.en);
    const page = load(content.markup);
    const isMock = (part: (typeof now)[number]) => part.group === 'model' && part.isMock;
    expect(page('.status-parts .band')).to.have.length(now.filter((part) => !isMock(part)).length);
    expect(page('.status-plain')).to.have.length(0);
  });

  it('has incidents that the operator adds and closes, as text', async () => {
    const added = await run('add', HOSTILE, '--kind', 'outage', '--message', 'Images wait.', '--json');
    expect([added.code, added.stderr]).to.deep.equal([0, '']);
    const { id, kind, ended_at: endedAt } = JSON.parse(added.stdout);
    expect([kind, endedAt]).to.deep.equal(['outage', null]);
    const planned = await run('add', 'New disk', '--kind', 'maintenance', '--from', '2099-12-24T08:00Z');
    expect(planned.stdout).to.match(/^Incident inc_[0-9a-f]{8} is on the status page\./);
    const { incidents } = await fresh().report();
    expect(incidents?.map(({ title }) => title)).to.deep.equal(['New disk', HOSTILE]);
    const { content } = statusPage({ report: await fresh().report(), hasLinks: true }, LOCALES.en);
    const page = load(content.markup);
    const named = page('.status-overall a').toArray();
    expect(named.map((one) => page(one).text())).to.deep.equal([HOSTILE, 'New disk']);
    for (const one of named) expect(page(page(one).attr('href') ?? '')).to.have.length(1);
    expect(page('.status-overall').text()).to.contain('Reported by the operator:').and.to.contain('Planned:');
    const update = await run('update', id, 'A disk is full.', '--state', 'identified', '--json');
    expect(JSON.parse(update.stdout)).to.include({ state: 'identified' });
    expect((await run('update', id, 'x', '--state', 'bad')).code).to.equal(2);
    expect((await run('rename', id, `${HOSTILE}!`)).code).to.equal(0);
    expect((await run('close', id, '--message', 'Solved.')).code).to.equal(0);
    const listed = await run();
    expect(listed.stdout).to.contain('outage').and.to.contain('open').and.not.to.contain('\u202e');
    const [entry] = await app.state.audit.list({ subject: id, limit: 1 });
    expect(entry).to.include({ action: 'incident.closed', actor: `operator:${userInfo().username}`, note: 'Solved.' });
  });

  it('refuses incidents with other times and kinds, and unknown ids', async () => {
    for (const args of [['add', 'x', '--from', 'tomorrow'], ['add', 'x', '--kind', 'bad'], ['add']]) {
      expect((await run(...args)).code, args.join(' ')).to.equal(2);
    }
    expect((await run('close', 'inc_00000000')).code).to.equal(1);
    expect((await run('update', 'inc_00000000', 'x')).code).to.equal(1);
    expect((await run('rename', 'inc_00000000', 'x')).code).to.equal(1);
  });

  it('leaves /health as JSON, and names it', async () => {
    const { page } = await read();
    expect(page('a[href="/health"]')).to.have.length(1);
    const { headers, json } = await app.request('/health', { headers: { accept: 'text/html' } });
    expect([headers.get('content-type'), json.ok]).to.deep.equal(['application/json; charset=utf-8', true]);
  });

  it('answers without the database, with the parts alone', async () => {
    const away = () => Promise.reject(new Error('the database is away'));
    const { gateway } = app;
    const status = new ServiceStatus({
      ...{ gateway, health: { checks: async () => ({ database: { ok: false, ms: 1 } }) }, probes: { latest: away } },
      ...{ history: { read: away, record: away } as never, incidents: { list: away } },
      ...{ acceptsOrders: true, canSignIn: () => true, clock: systemClock },
    });
    const report = await status.report();
    expect([stateOf(report, 'database'), stateOf(report, 'gateway'), report.incidents]).to.deep.equal([
      ...['down', 'ok', undefined],
    ]);
  });
});
