/** Health of a platform that limits every method, and of a gateway that does not listen yet. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createRecordingLogger } from 'mediagate/testing';
import { openServer } from '../../../server/open-server.js';
import { readSettings } from '../../../server/settings/settings.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';

describe('health of platforms', () => {
  let proxy: ReplayingProxy;
  let gateway: GatewayHere;

  before(async () => {
    proxy = await startReplayingProxy({ answer: () => ({ status: 429, headers: { 'retry-after': '240' } }) });
    gateway = await startGatewayHere({ proxy });
  });

  after(async () => {
    await gateway.kill();
    await proxy.close();
  });

  it('shows a platform as down if it limits every method, with reason and wait, and stays ready', async () => {
    const before = await gateway.request('/health');
    expect(before.json.checks.platforms).to.deep.equal({
      ok: true,
      entries: ['clip_shop', 'clip_video', 'vidsite', 'social', 'photo'].map((key) => ({ key, ok: true, resting: [] })),
    });
    expect(before.json.checks.browser).to.deep.equal({ ok: true, state: 'off' });

    const { key } = await gateway.makeKey();
    const limited = await gateway.extract(key, { url: 'https://youtu.be/Tugs0fOst3n' });
    expect(limited.json.error).to.include({ code: 'upstream_rate_limited' });

    const { status, json, text } = await gateway.request('/health');
    expect(status).to.equal(200);
    expect(json).to.include({ ok: true, status: 'degraded' });
    const [vidsite, ...others] = json.checks.platforms.entries.sort((one: { key: string }) =>
      one.key === 'vidsite' ? -1 : 1,
    );
    expect(vidsite).to.include({ key: 'vidsite', ok: false });
    expect(vidsite.resting.map(({ method }: { method: string }) => method)).to.include.members([
      'innertube_player',
      'watch_page',
    ]);
    for (const { code, seconds } of vidsite.resting) {
      expect(code).to.equal('upstream_rate_limited');
      expect(seconds).to.be.within(1, 240);
    }
    expect(others.every(({ ok }: { ok: boolean }) => ok)).to.equal(true);
    expect(text).not.to.contain(key).and.not.to.contain('Tugs0fOst3n');
    expect((await gateway.request('/health/ready')).status).to.equal(200);
  });
});

describe('a gateway that does not listen yet', () => {
  it('has an address before it listens, for what notes its state meanwhile', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-data-'));
    const settings = readSettings({ DATA_DIR: folder, HOST: '127.0.0.1', PORT: '0', BROWSER: 'off' });
    const services = { logger: createRecordingLogger() };
    const server = await openServer({ settings, environment: { PATH: process.env.PATH }, address: () => '', services });
    expect(server.signIn?.()).to.include({ state: 'ready', standIn: true });
    await server.close();
    await rm(folder, { recursive: true });
  });
});
