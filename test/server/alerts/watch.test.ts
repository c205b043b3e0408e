/** What is watched for: each condition opens an alert from real sources, and closes it when it is over. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { expect } from 'chai';
import { createRecordingLogger } from 'mediagate/testing';
import type { PluginStatus } from '../../../core/contracts/index.js';
import { systemClock } from '../../../core/runtime/time.js';
import { readCertificate } from '../../../server/alerts/certificate.js';
import { type AlertWatchOptions, startAlertWatch } from '../../../server/alerts/watch.js';
import type { State } from '../../../server/state.js';
import { transfer } from '../../support/accounts/people.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { createCertificateAuthority } from '../../support/http/certificates.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';
import { until } from '../../support/until.js';

const PLUGIN: PluginStatus = {
  id: 'openai_text',
  plugin: 'openai_text',
  summary: 'Text models',
  state: 'ready',
  variables: { names: [], switchOff: [] },
  provides: ['text'],
  serves: ['m-5.5', 'm-6'],
  standIn: false,
  required: false,
  upstreams: [{ name: 'upstreams.0', isCoolingDown: false, tries: 9, failures: 0 }],
};
const COOLING = { name: 'upstreams.0', isCoolingDown: true, tries: 9, failures: 9 };

for (const engine of engines) {
  describe(`the watch for alerts on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let server: Server;
    let address: string;
    let plugins: PluginStatus[] = [PLUGIN];
    let diskPercent = 0;
    const stops: (() => Promise<void>)[] = [];

    before(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
      const authority = await createCertificateAuthority();
      const context = await authority.contextFor('localhost');
      server = createServer({ SNICallback: (_host, done) => done(null, context) }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      address = `https://localhost:${(server.address() as AddressInfo).port}`;
    });
    after(async () => {
      for (const stop of stops) await stop();
      server?.close();
      await place?.remove();
    });

    function watch(of: State, host: string, options: Partial<AlertWatchOptions> = {}) {
      const node = {
        gateway: { plugins: () => plugins, models: () => [] },
        dataDir: place.dataDir,
        host,
        get diskPercent() {
          return host === 'node-1' ? diskPercent : 0;
        },
      };
      const shared = { state: of, addresses: [address], errorPercent: 20, clock: systemClock };
      const logger = createRecordingLogger();
      const started = startAlertWatch({
        ...{ alerts: of.alerts, node, shared, channels: [], logger, everyMs: 40, quietMs: 400 },
        ...options,
      });
      stops.push(() => started.stop());
    }

    const active = async () => (await state.alerts.list({ state: 'active', limit: 50 })).map(({ kind }) => kind).sort();

    it('opens each kind by what is found, over two nodes, and closes it afterwards', async function () {
      this.timeout(20_000);
      const other = await place.open();
      watch(state, 'node-1');
      watch(other, 'node-2');
      await until(async () => (await active()).includes('certificate'));
      expect(await active(), 'the certificate of a test lasts some hours').to.deep.equal(['certificate']);
      const made = budget({ scope: 'group', subject: 'team', planId: null, tokenLimit: 10 });
      await state.budgets.create(made);
      const { reservation } = await state.admissions.admit({
        ...CHAT,
        reserve: { budgetId: null, furtherBudgets: [made.id], tokens: 10 },
      });
      state.admissions.settle(settlement({ reservation, usage: { totalTokens: 10 }, at: Date.now() }));
      for (let index = 0; index < 20; index += 1) {
        const fails = index < 8 && { status: 502, errorCode: 'upstream_error' as const };
        state.admissions.settle(settlement({ at: Date.now(), ...fails }));
      }
      await state.admissions.flush();
      await state.probes.record([{ platform: 'vidsite', at: Date.now(), passed: 3, failed: 1 }]);
      await state.orders.record(transfer('no code here'));
      plugins = [{ ...PLUGIN, upstreams: [COOLING] }];
      diskPercent = 100;
      const all = [
        ...['bank_money', 'budget_low', 'budget_used', 'certificate', 'disk_low', 'error_rate', 'probe_failed'],
        'upstream_down',
      ];
      await until(async () => (await active()).length === all.length);
      const list = await state.alerts.list({ state: 'active', limit: 50 });
      expect(list.map(({ kind }) => kind).sort()).to.deep.equal(all);
      const of = (kind: string) => list.find((one) => one.kind === kind);
      expect(of('upstream_down')).to.deep.include({ subject: 'openai_text', times: 1 });
      expect(of('error_rate')?.detail).to.include({ code: 'upstream_error', failed: 8, requests: 21 });
      expect(of('disk_low')?.subject).to.equal('node-1');
      expect(of('budget_used')?.subject).to.equal('group team tokens/lifetime');
      plugins = [PLUGIN];
      diskPercent = 0;
      await state.probes.record([{ platform: 'vidsite', at: Date.now(), passed: 4, failed: 0 }]);
      const [money] = await state.orders.transactions({ review: true }, 1);
      await state.orders.settleReview(money!, { actor: 'operator:ann' });
      const rest = ['budget_low', 'budget_used', 'certificate', 'error_rate'];
      await until(async () => (await active()).length === rest.length);
      expect(await active()).to.deep.equal(rest);
      expect((await state.alerts.list({ limit: 50 })).map(({ times }) => times)).to.deep.equal(all.map(() => 1));
    });

    it('goes on without a source that fails', async () => {
      const broken = { latest: () => Promise.reject(new Error('no such table')) };
      const alone = await place.open();
      const shared = {
        state: { ...alone, probes: broken },
        addresses: [],
        errorPercent: 20,
        clock: systemClock,
      };
      watch(alone, 'node-3', { shared });
      diskPercent = 0;
      plugins = [{ ...PLUGIN, id: 'images', state: 'failed', reason: 'no key' }];
      await until(async () => (await active()).includes('upstream_down'));
      plugins = [PLUGIN];
    });
  });
}

describe('the certificate of an address', () => {
  it('is not read of an address without TLS, or of one that does not answer', async () => {
    expect(await readCertificate('http://127.0.0.1:1')).to.equal(undefined);
    expect(await readCertificate('https://127.0.0.1:1')).to.equal(undefined);
    expect(await readCertificate('https://[::1]:1')).to.equal(undefined);
  });
});
